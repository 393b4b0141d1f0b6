// §11 in SQL. A reservation and a kept response are the same row; either is free to take once expires_at has passed.
// Each statement says whose row it may touch: a handler that outlived its reservation can neither overwrite nor free
// its successor's (R22).
import { randomUUID } from 'node:crypto'
import type { Sealing } from '../core/sealing.ts'
import type { Kept, KeptQuota } from '../limits/kept-quota.ts'
import { DELETED_AT_ONCE_BYTES } from '../storage/batches.ts'
import { asideFirst, type Db, sql, together } from '../storage/db.ts'
import {
  type LargeBody,
  type LargeBodyColumns,
  largeBodies,
  largeBodyOf,
  removeParts,
} from '../storage/large-bodies.ts'
import {
  byDigest,
  decodeResponse,
  encodeResponse,
  type KeptResponse,
  type KeyedRequest,
  RESERVATION_MS,
  RETENTION_MS,
  subjectOf,
} from './idempotency.ts'

const SWEEP_MAX = 1_000 // rows in one go: bounds how long a sweep holds the store, as do their bytes
const LARGE_SWEEP_MAX = 4 // of those whose parts go with them
const HELD_MAX_BYTES = 1024 * 1024 // what is larger is replayed part by part
const RENEW_MAX = 500 // rows in one transaction: whoever keeps one of these waits for it

/** A triple that this handler has taken. `owner` tells it from a later handler of the same triple. */
export type Reservation = KeyedRequest & { owner: string }

export type Found =
  | { kind: 'free' }
  | { kind: 'held' }
  /** A purge job took what was kept. */
  | { kind: 'erased' }
  /** `large`: how its body begins, where that is too much to be held at once. */
  | { kind: 'kept'; response: KeptResponse; large?: AsyncIterable<Buffer>; large_bytes?: number }

/** Who reserves: one process among the replicas, and what its handlers are at work on. */
export interface Holder {
  process: string
  /** By owner, from when a reservation is known to be taken until its handler ends. Nothing else is renewed (R22). */
  running: Map<string, Reservation>
  /** R78: told of what is reserved and kept. */
  quota?: Pick<KeptQuota, 'began' | 'ended' | 'added'> | undefined
}

export const holder = (process: string, quota?: Holder['quota']): Holder => ({ process, running: new Map(), quota })

export type IdempotencyStore = ReturnType<typeof idempotencyStore>

export function idempotencyStore(db: Db, seals: Sealing, { process, running, quota }: Holder) {
  const { seal, open } = seals
  function end({ owner, project_id }: Reservation): void {
    if (running.delete(owner)) quota?.ended(project_id)
  }

  async function find(request: KeyedRequest, now: number): Promise<Found> {
    const { digest, key } = request
    const [row] = await db.rows<Row>(sql`
      SELECT sealed, state, parts_id, parts_bytes FROM idempotency WHERE digest = ${digest} AND expires_at > ${now}`)
    if (!row) return { kind: 'free' }
    if (!row.sealed) return { kind: row.state === 'erased' ? 'erased' : 'held' }
    const response = decodeResponse(open(row.sealed, key, digest))
    const large = largeBodyOf(row)
    if (!large) return { kind: 'kept', response }
    if (large.parts_bytes > HELD_MAX_BYTES) {
      const parts = await largeBodies(db, seals).readInTurn(large, key)
      return parts ? { kind: 'kept', response, large: parts, large_bytes: large.parts_bytes } : find(request, now)
    }
    const most = await largeBodies(db, seals).read(large, key)
    // Where they went meanwhile, the row says by now why.
    return most
      ? { kind: 'kept', response: { ...response, body: Buffer.concat([most, response.body]) } }
      : find(request, now)
  }

  /** With its parts, which nobody could find any more were its row taken over. */
  async function forgetLarge(digest: string, now: number): Promise<void> {
    await db.transaction(async (tx) => {
      const gone = await tx.rows<LargeBodyColumns>(sql`
        DELETE FROM idempotency WHERE digest = ${digest} AND expires_at <= ${now} AND parts_id IS NOT NULL
        RETURNING parts_id, parts_bytes`)
      await removeParts(tx, gone)
    })
  }

  /** False where it is not free, or has parts that have to go first. */
  async function take(request: KeyedRequest, owner: string, now: number): Promise<boolean> {
    const [taken] = await db.rows(sql`
      INSERT INTO idempotency (digest, project_id, key_id, state, owner, process, expires_at)
      VALUES (${request.digest}, ${request.project_id}, ${request.key_id ?? null}, 'held', ${owner}, ${process},
              ${now + RESERVATION_MS})
      ON CONFLICT (digest) DO UPDATE
        SET project_id = excluded.project_id, key_id = excluded.key_id, state = excluded.state,
            owner = excluded.owner, process = excluded.process, expires_at = excluded.expires_at, sealed = NULL,
            bytes = NULL, trace_id = NULL
        WHERE idempotency.expires_at <= ${now} AND idempotency.parts_id IS NULL
      RETURNING digest`)
    return taken !== undefined
  }

  async function insertKept(request: KeyedRequest, { sealed, subject }: Sealed, now: number): Promise<boolean> {
    const { digest, project_id, key_id = null } = request
    const kept = await db.rows(sql`
      INSERT INTO idempotency (digest, project_id, key_id, state, owner, process, expires_at, sealed, bytes, trace_id)
      VALUES (${digest}, ${project_id}, ${key_id}, 'kept', ${randomUUID()}, ${process}, ${now + RETENTION_MS},
              ${sealed}, ${sealed.length}, ${subject})
      ON CONFLICT (digest) DO UPDATE
        SET project_id = excluded.project_id, key_id = excluded.key_id, state = excluded.state,
            owner = excluded.owner, process = excluded.process, expires_at = excluded.expires_at,
            sealed = excluded.sealed, bytes = excluded.bytes, trace_id = excluded.trace_id
        WHERE idempotency.expires_at <= ${now} AND idempotency.parts_id IS NULL
      RETURNING digest`)
    return kept.length === 1
  }

  /** For the process, so it need not outlive a power cut. */
  async function renew(some: readonly Reservation[], now: number): Promise<void> {
    await db.transaction(
      async (tx) =>
        together(
          some.map(({ digest, owner }) =>
            tx.rows(sql`
              UPDATE idempotency SET expires_at = ${now + RESERVATION_MS}
              WHERE digest = ${digest} AND owner = ${owner} AND state = 'held'`),
          ),
        ),
      { lasting: 'committed' },
    )
  }

  return {
    find,

    /**
     * Takes the triple if it is free. Exactly one of any number of concurrent callers gets to execute. Who does either
     * releases it or says that it has `ended`. Where nobody heard that it was taken, nobody renews it either.
     */
    async reserve(request: KeyedRequest, now: number): Promise<{ kind: 'taken'; reservation: Reservation } | Found> {
      const owner = randomUUID()
      if (!(await take(request, owner, now))) {
        const found = await find(request, now)
        if (found.kind !== 'free') return found
        await forgetLarge(request.digest, now)
        if (!(await take(request, owner, now))) return find(request, now)
      }
      const reservation: Reservation = { owner, ...request }
      running.set(owner, reservation)
      quota?.began(request.project_id)
      return { kind: 'taken', reservation }
    },

    /** Its handler is through with it: it is not renewed any more. */
    ended: end,

    /** Only for handlers that run: what they hold is never reclaimed by age alone, and what they left is (R22). */
    async renewAll(now: number): Promise<void> {
      const all = [...running.values()].sort(byDigest)
      for (let at = 0; at < all.length; at += RENEW_MAX) await renew(all.slice(at, at + RENEW_MAX), now)
    },

    /** Keeps a 2xx for 24 hours. False when the reservation had lapsed and someone else may have executed. */
    async keep(reservation: Reservation, response: KeptResponse, now: number, large?: LargeBody): Promise<boolean> {
      const { digest, project_id, key, owner, asked } = reservation
      const { parts_id = null, parts_bytes = 0 } = large ?? {}
      const rest = { asked, ...response, body: response.body.subarray(parts_bytes) }
      const sealed = seal(encodeResponse(rest), key, digest)
      const bytes = sealed.length + parts_bytes
      const kept = await db.rows(sql`
        UPDATE idempotency
        SET state = 'kept', sealed = ${sealed}, bytes = ${bytes}, expires_at = ${now + RETENTION_MS},
            trace_id = ${subjectOf(response)}, parts_id = ${parts_id}, parts_bytes = ${large ? parts_bytes : null}
        WHERE digest = ${digest} AND owner = ${owner} AND state = 'held'
        RETURNING digest`)
      if (kept.length === 0) return false
      if (large) await largeBodies(db, seals).settle(large)
      quota?.added(project_id, bytes)
      return true
    },

    /** Keeps the answer of a request whose whole effect is in the same transaction: no reservation came before. */
    async keepAtOnce(request: KeyedRequest, response: KeptResponse, now: number): Promise<boolean> {
      const sealed = seal(encodeResponse(response), request.key, request.digest)
      const kept: Sealed = { sealed, subject: subjectOf(response) }
      if (!(await insertKept(request, kept, now))) {
        await forgetLarge(request.digest, now)
        if (!(await insertKept(request, kept, now))) return false
      }
      quota?.added(request.project_id, sealed.length)
      return true
    },

    /** §11.6: a 4xx or 5xx frees the triple at once. A kept response is never freed. */
    async release(reservation: Reservation): Promise<void> {
      const { digest, owner } = reservation
      end(reservation)
      await db.rows(sql`
        DELETE FROM idempotency WHERE digest = ${digest} AND owner = ${owner} AND state = 'held'`)
    },

    /** An answer that nobody asks for again, because what came of it is kept elsewhere. The sweep takes it. */
    async expire({ project_id, digest }: Pick<KeyedRequest, 'project_id' | 'digest'>, now: number): Promise<void> {
      await db.rows(sql`
        UPDATE idempotency SET expires_at = ${now}
        WHERE digest = ${digest} AND project_id = ${project_id} AND state = 'kept'`)
    },

    /**
     * Forgets what nobody can ask for any more; true while there may be more of it. Whoever reserved one meanwhile
     * keeps it: the condition is asked again of the row that is deleted.
     */
    async sweep(now: number): Promise<boolean> {
      const large = await db.rows<{ digest: string }>(sql`
        SELECT digest FROM idempotency WHERE expires_at <= ${now} AND parts_id IS NOT NULL LIMIT ${LARGE_SWEEP_MAX}`)
      for (const { digest } of large) await forgetLarge(digest, now)
      const gone = await db.rows<{ bytes: number }>(sql`
        DELETE FROM idempotency
        WHERE expires_at <= ${now} AND parts_id IS NULL AND digest IN (
          SELECT digest FROM (
            SELECT digest, SUM(bytes) OVER (ORDER BY expires_at, digest) - bytes AS bytes_before FROM (
              SELECT digest, expires_at, COALESCE(LENGTH(sealed), 0) AS bytes FROM idempotency
              WHERE expires_at <= ${now} AND parts_id IS NULL ORDER BY expires_at LIMIT ${SWEEP_MAX}) AS oldest
          ) AS summed WHERE bytes_before < ${DELETED_AT_ONCE_BYTES})
        RETURNING COALESCE(LENGTH(sealed), 0) AS bytes`)
      const bytes = gone.reduce((sum, row) => sum + row.bytes, 0)
      return gone.length === SWEEP_MAX || bytes >= DELETED_AT_ONCE_BYTES || large.length === LARGE_SWEEP_MAX
    },
  }
}

interface Sealed {
  sealed: Buffer
  /** What it is of (`trace_id`). */
  subject: string | null
}

interface Row extends LargeBodyColumns {
  sealed: Uint8Array | null
  state: string
}

/** R78: what is kept for a project, of so many rows at the most; a busy project has many, so it is read aside. */
export async function keptFor(db: Db, project_id: string, most: number): Promise<Kept> {
  const [row] = await db.rows<Kept>(
    asideFirst(sql`
      SELECT COUNT(*) AS items, CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS bytes FROM (
        SELECT bytes FROM idempotency WHERE project_id = ${project_id} AND project_id IS NOT NULL LIMIT ${most}
      ) AS counted`),
  )
  return row ?? { items: 0, bytes: 0 }
}
