// Responses that their callers let us keep (`store`), sealed: a conversation is nobody's to read in a stolen database.
// A chain of them is walked in one statement, which bounds it in steps and in bytes.

import { rfc3339 } from '../core/clock.ts'
import { BUDGETS, jsonWithin } from '../core/foreign.ts'
import { nextSequence } from '../core/ids.ts'
import { lanes } from '../core/lanes.ts'
import { type Maker, madeByAnother } from '../core/maker.ts'
import type { Sealing } from '../core/sealing.ts'
import { inTurns, nextTurn } from '../core/turns.ts'
import type { Kept } from '../limits/kept-quota.ts'
import { asideFirst, type Db, joined, sql } from '../storage/db.ts'
import { isOneOf } from '../storage/erasing.ts'
import {
  type LargeBody,
  type LargeBodyColumns,
  largeBodies,
  largeBodyOf,
  removeParts,
} from '../storage/large-bodies.ts'
import { backgroundStore } from './background-store.ts'
import type { NativeBlocks } from './native-response.ts'
import { FoundItems, type Pointers, pointersIn } from './pointed-items.ts'
import { CHAIN_MAX, CHAIN_MAX_BYTES, type ChainLink, checkChain, checkReadFor, notStored } from './response-chain.ts'
import { type ItemList, type ItemsPage, listItems } from './response-items.ts'
import { outputOf, type ResponseObject } from './response-object.ts'
import { type Item, isResponseId } from './response-request.ts'

export interface KeptResponse extends Maker {
  trace_id: string
  response: ResponseObject
  /** What this request brought, without what came before it and without its instructions. */
  input: readonly Item[]
  native: NativeBlocks | null
}

type Sealed = Pick<KeptResponse, 'response' | 'input' | 'native'>

/** Of a chain that has more, so many bytes are read at a time. */
const CHAIN_READ_BYTES = 1024 * 1024

/** R78: so many long chains of a project are read at a time: a call is counted by its tokens once it has been read. */
const inLane = lanes({ at_once: 2, waiting_max: 100 })

/** What is opened before others have their turn. */
const OPENED_AT_ONCE_BYTES = 256 * 1024

interface Row extends Maker, LargeBodyColumns {
  id: string
  trace_id: string
  sealed: Uint8Array | null
}

type Written = KeptResponse & { sealed: Buffer; sequence: number; created_at: string }

/** R74: whether whoever asks may see what this maker made. */
export type MayUse = (maker: Maker) => boolean
type Sized = Row & { own_bytes: number }
type Link = Sized & ChainLink

export type ResponseStore = ReturnType<typeof responseStore>

export function responseStore(db: Db, seals: Sealing) {
  const { seal, open } = seals
  const place = (id: string) => `stored_response ${id}`

  /** R77: what is large is read in steps. */
  async function opened(project_id: string, row: Row): Promise<KeptResponse | undefined> {
    const { id, trace_id, made_by, made_under, sealed } = row
    if (!sealed) return undefined
    const rest = open(sealed, project_id, place(id))
    const large = largeBodyOf(row)
    const most = large && (await largeBodies(db, seals).read(large, project_id))
    if (large && !most) return undefined // deleted meanwhile
    const kept = (await jsonWithin(BUDGETS.own, most ? Buffer.concat([most, rest]) : rest)) as Sealed
    return { trace_id, made_by, made_under, ...kept }
  }

  async function find(project_id: string, id: string): Promise<KeptResponse | undefined> {
    if (!isResponseId(id)) return undefined
    const [row] = await db.rows<Row>(sql`
      SELECT id, trace_id, made_by, made_under, sealed, parts_id, parts_bytes FROM stored_response
      WHERE project_id = ${project_id} AND id = ${id}`)
    return row && (await opened(project_id, row))
  }

  /** False where there is one of this id already, with parts or of another project. */
  async function write(project_id: string, row: Written, large: LargeBody | undefined): Promise<boolean> {
    const { trace_id, made_by, made_under, response, sealed, sequence, created_at } = row
    const { id, previous_response_id } = response
    const { parts_id = null, parts_bytes = 0 } = large ?? {}
    const written = await db.rows(sql`
      INSERT INTO stored_response (id, project_id, trace_id, made_by, made_under, previous_response_id, created_at,
                                   sequence, sealed, bytes, parts_id, parts_bytes)
      VALUES (${id}, ${project_id}, ${trace_id}, ${made_by}, ${made_under}, ${previous_response_id}, ${created_at},
              ${sequence}, ${sealed}, ${sealed.length + parts_bytes}, ${parts_id}, ${large ? parts_bytes : null})
      ON CONFLICT (id) DO UPDATE
        SET trace_id = excluded.trace_id, made_by = excluded.made_by, made_under = excluded.made_under,
            previous_response_id = excluded.previous_response_id,
            created_at = excluded.created_at, sequence = excluded.sequence, sealed = excluded.sealed,
            bytes = excluded.bytes, parts_id = excluded.parts_id, parts_bytes = excluded.parts_bytes
        WHERE stored_response.project_id = excluded.project_id AND stored_response.parts_id IS NULL
      RETURNING id`)
    return written.length === 1
  }

  /** In a transaction: with its parts. */
  async function removed(tx: Db, project_id: string, id: string): Promise<boolean> {
    const gone = await tx.rows<{ parts_id: string | null }>(sql`
      DELETE FROM stored_response WHERE project_id = ${project_id} AND id = ${id} RETURNING parts_id`)
    await removeParts(tx, gone)
    return gone.length === 1
  }

  /** What is sealed in the links of a chain, a bounded number of bytes at a time. */
  async function* sealedOf(project_id: string, links: readonly Sized[]): AsyncGenerator<Sized> {
    for (let from = 0; from < links.length; ) {
      let to = from
      for (let bytes = 0; to < links.length && (to === from || bytes <= CHAIN_READ_BYTES); to++)
        bytes += (links[to] as Sized).own_bytes
      const some = links.slice(from, to)
      const missing = some.filter(({ sealed }) => sealed === null).map(({ id }) => id)
      const rows = missing.length === 0 ? [] : await sealedRows(project_id, missing)
      const found = new Map(rows.map(({ id, sealed }) => [id, sealed]))
      for (const link of some) yield { ...link, sealed: link.sealed ?? found.get(link.id) ?? null }
      from = to
    }
  }

  /** Without `kept` where it went meanwhile. */
  async function* openedOf(project_id: string, links: readonly Sized[]) {
    let bytes = 0
    for await (const link of sealedOf(project_id, links)) {
      yield { id: link.id, kept: await opened(project_id, link) }
      bytes += link.own_bytes
      if (bytes > OPENED_AT_ONCE_BYTES) {
        bytes = 0
        await nextTurn()
      }
    }
  }

  async function itemsIn(project_id: string, links: readonly Link[]): Promise<Item[]> {
    const items: Item[] = []
    for await (const { id, kept } of openedOf(project_id, links)) {
      if (!kept) throw notStored(id)
      for (const item of itemsOf(kept)) items.push(item)
    }
    return items
  }

  async function pointedAt(project_id: string, rows: readonly Sized[], pointers: Pointers) {
    const found = new FoundItems(pointers)
    for await (const { kept } of openedOf(project_id, rows)) await inTurns(found.add(itemsOf(kept)))
    return found.items
  }

  const sealedRows = (project_id: string, ids: readonly string[]) =>
    db.rows<Pick<Row, 'id' | 'sealed'>>(
      asideFirst(
        joined(sql`SELECT id, sealed FROM stored_response WHERE project_id = ${project_id} AND `, isOneOf('id', ids)),
      ),
    )

  return {
    /** R80: which generation made it. That is no content: whoever may read traces may know. */
    async traceOf(project_id: string, id: string): Promise<string | undefined> {
      if (!isResponseId(id)) return undefined
      const [row] = await db.rows<{ trace_id: string }>(sql`
        SELECT trace_id FROM stored_response WHERE project_id = ${project_id} AND id = ${id}`)
      // One that came to nothing is not kept here.
      return row ? row.trace_id : (await backgroundStore(db, seals).find(project_id, id))?.trace_id
    },

    /**
     * Ids of a native Responses API are its own. One that it gives out twice is the later answer, as it is there; one
     * that another project's upstream has used stays theirs, and this answer is not kept.
     */
    async insert(project_id: string, kept: KeptResponse, now: number, large?: LargeBody): Promise<void> {
      const { id } = kept.response
      const rest = Buffer.from(large ? restOf(kept) : wholeOf(kept))
      const sealed = seal(rest, project_id, place(id))
      const row = { ...kept, sealed, sequence: nextSequence(now), created_at: rfc3339(now) }
      if (!(await write(project_id, row, large))) {
        // One with parts goes with them, before another takes its place.
        if (!(await removed(db, project_id, id)) || !(await write(project_id, row, large))) return
      }
      if (large) await largeBodies(db, seals).settle(large)
    },

    find,

    async remove(project_id: string, id: string): Promise<boolean> {
      if (!isResponseId(id)) return false
      return db.transaction((tx) => removed(tx, project_id, id))
    },

    /** The conversation that a response ends, oldest item first. */
    async history(project_id: string, previous_response_id: string, mayUse: MayUse): Promise<Item[]> {
      const links = isResponseId(previous_response_id)
        ? await db.rows<Link>(linksOf(project_id, previous_response_id))
        : []
      checkChain(links, previous_response_id)
      if (!links.every(mayUse)) throw madeByAnother("What 'previous_response_id' leads to")
      const is_long = (links[0]?.bytes ?? 0) > CHAIN_READ_BYTES
      return is_long ? inLane(project_id, () => itemsIn(project_id, links)) : itemsIn(project_id, links)
    },

    /** Puts the items in place of those only pointed at. Ids that are not ours are for the upstream to know. */
    async resolved(project_id: string, items: readonly Item[], mayUse: MayUse): Promise<readonly Item[]> {
      const pointers = pointersIn(items)
      if (!pointers) return items
      const ids = [...pointers.responses]
      const found = await db.rows<Sized>(sizesOf(project_id, ids))
      const rows = ids.flatMap((id) => found.filter((row) => row.id === id)) // of two items of one id the later counts
      if (!rows.every(mayUse)) throw madeByAnother("What an item of 'input' points at")
      const bytes = rows.reduce((sum, { own_bytes }) => sum + own_bytes, 0)
      checkReadFor(bytes)
      const read = () => pointedAt(project_id, rows, pointers)
      return pointers.placed(await (bytes > CHAIN_READ_BYTES ? inLane(project_id, read) : read()))
    },
  }
}

/** What tells of those that are pointed at, out of the same index as the links of a chain. */
const sizesOf = (project_id: string, ids: readonly string[]) =>
  asideFirst(
    joined(
      sql`
        SELECT id, trace_id, made_by, made_under, parts_id, parts_bytes, bytes AS own_bytes, NULL AS sealed
        FROM stored_response WHERE project_id = ${project_id} AND `,
      isOneOf('CAST(id AS TEXT)', ids),
    ),
  )

/**
 * Oldest first; sealed contents only where the chain has few of them. What tells of links comes out of an index: in the
 * rows it stands behind the contents. By the CAST SQLite finds that index; to PostgreSQL it is nothing.
 */
const linksOf = (project_id: string, last_id: string) => sql`
  SELECT id, trace_id, made_by, made_under, previous_response_id, depth, bytes, own_bytes, parts_id, parts_bytes, sealed
  FROM (
    WITH RECURSIVE chain (id, previous_response_id, trace_id, made_by, made_under, parts_id, parts_bytes, own_bytes,
                          depth, bytes) AS (
      SELECT id, previous_response_id, trace_id, made_by, made_under, parts_id, parts_bytes, bytes, 1, bytes
      FROM stored_response WHERE project_id = ${project_id} AND CAST(id AS TEXT) = ${last_id}
      UNION ALL
      SELECT r.id, r.previous_response_id, r.trace_id, r.made_by, r.made_under, r.parts_id, r.parts_bytes, r.bytes,
             chain.depth + 1, chain.bytes + r.bytes
      FROM chain JOIN stored_response r ON CAST(r.id AS TEXT) = chain.previous_response_id
      WHERE r.project_id = ${project_id} AND chain.depth <= ${CHAIN_MAX} AND chain.bytes <= ${CHAIN_MAX_BYTES}
    )
    SELECT chain.*, CASE WHEN (SELECT MAX(bytes) FROM chain) <= ${CHAIN_READ_BYTES}
                          AND (SELECT MAX(depth) FROM chain) <= ${CHAIN_MAX}
                         THEN (SELECT s.sealed FROM stored_response s WHERE s.id = chain.id) END AS sealed
    FROM chain
  ) AS links
  ORDER BY depth DESC`

/** R78: what is stored of a project, of so many at the most; it may have many, so it is read aside. */
export async function storedFor(db: Db, project_id: string, most: number): Promise<Kept> {
  const [row] = await db.rows<Kept>(
    asideFirst(sql`
      SELECT COUNT(*) AS items, CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS bytes FROM (
        SELECT bytes FROM stored_response WHERE project_id = ${project_id} LIMIT ${most}) AS counted`),
  )
  return row ?? { items: 0, bytes: 0 }
}

/** §8.2: the items where full fidelity is kept, otherwise none. */
export const inputItems = ({ input }: Pick<KeptResponse, 'input'>, page: ItemsPage, full: boolean): ItemList =>
  listItems(full ? input : [], full ? page : { ...page, after: undefined })

const itemsOf = (kept: KeptResponse | undefined): Item[] => (kept ? [...kept.input, ...outputOf(kept.response)] : [])

/** Of what is kept, as JSON: all but its end, */
export const mostOf = (json: Buffer) => json.subarray(0, -1)

/** which tells what it cost. */
const restOf = ({ native }: KeptResponse) => `,"native":${JSON.stringify(native)}}`

const wholeOf = ({ response, input, native }: KeptResponse) => JSON.stringify({ response, input, native })
