// What is too large to be written in one statement, in the database: parts in rows of their own, sealed and written one
// by one, so that nobody waits for megabytes; then the row that has them, in the transaction that it belongs to. Parts
// that no row came for are swept.
import { MINUTE_MS } from '../core/clock.ts'
import { randomBase62 } from '../core/ids.ts'
import type { Sealing } from '../core/sealing.ts'
import { restingTurn } from '../core/turns.ts'
import { type Db, fixed, joined, type Sql, sql } from './db.ts'
import { isOneOf } from './erasing.ts'

export const PART_BYTES = 256 * 1024

/** What a part may take of the process and its disk: all who write them share 32 MB a second. */
const PART_MS = 8
/** What reading one takes, which all who read share as well. */
const READ_PART_MS = 2

export const isLargeBody = (bytes: number) => bytes > PART_BYTES

/** Most of a body; what is left of it stands in the row that has it. */
export interface LargeBody {
  parts_id: string
  /** Of the plain bytes. */
  parts_bytes: number
}

/** As the row that has them says it. */
export type LargeBodyColumns = { [Column in keyof LargeBody]: LargeBody[Column] | null }

/** Longer than any generation's end takes: whoever has not come for its parts by then never will. */
const LOOSE_MS = 10 * MINUTE_MS
const SWEPT_AT_ONCE = 8
const ID_LENGTH = 32

/** Whoever wrote them was taken for dead. */
export class PartsGone extends Error {}

/** Bytes that are not in memory. */
export interface BytesElsewhere {
  bytes: number
  parts(from: number, to: number): AsyncIterable<Buffer>
}

export type LargeBodies = ReturnType<typeof largeBodies>

export function largeBodies(db: Db, seals: Sealing) {
  /** `ingredient` goes into the key that they are sealed with. They are on the disk once what is written later is. */
  async function write(
    project_id: string,
    ingredient: string,
    plain: Buffer | BytesElsewhere,
    now: number,
  ): Promise<LargeBody> {
    const parts_id = randomBase62(ID_LENGTH)
    const parts_bytes = Buffer.isBuffer(plain) ? plain.length : plain.bytes
    for (let part = 0; part < partsOf(parts_bytes); part++) {
      const piece = await pieceOf(plain, part * PART_BYTES, Math.min((part + 1) * PART_BYTES, parts_bytes))
      const sealed = seals.seal(piece, ingredient, placeOf(parts_id, part))
      const loose_since_ms = part === 0 ? now : null
      const insert = sql`
        INSERT INTO large_body_part (parts_id, part, project_id, loose_since_ms, sealed)
        VALUES (${parts_id}, ${part}, ${project_id}, ${loose_since_ms}, ${sealed})`
      await db.transaction((tx) => tx.rows(insert), { lasting: 'committed' })
      await restingTurn(PART_MS) // everybody's calls are settled in between
    }
    return { parts_id, parts_bytes }
  }

  async function readPart({ parts_id }: LargeBody, part: number, ingredient: string): Promise<Buffer | undefined> {
    const [row] = await db.rows<{ sealed: Uint8Array }>(sql`
      SELECT sealed FROM large_body_part WHERE parts_id = ${parts_id} AND part = ${part}`)
    return row && seals.open(row.sealed, ingredient, placeOf(parts_id, part))
  }

  return {
    write,

    /** In the transaction that gives them to a row. */
    async settle({ parts_id }: LargeBody): Promise<void> {
      const settled = await db.rows(sql`
        UPDATE large_body_part SET loose_since_ms = NULL
        WHERE parts_id = ${parts_id} AND part = 0 AND loose_since_ms IS NOT NULL RETURNING part`)
      if (settled.length === 0) throw new PartsGone(`the parts ${parts_id} have been swept`)
    },

    /** Undefined where they went while they were read. */
    async read(large: LargeBody, ingredient: string): Promise<Buffer | undefined> {
      const plain = Buffer.alloc(large.parts_bytes) // filled part by part: nobody waits for a copy of all of it
      for (let part = 0; part < partsOf(large.parts_bytes); part++) {
        const piece = await readPart(large, part, ingredient)
        if (!piece) return undefined
        piece.copy(plain, part * PART_BYTES)
        await restingTurn(READ_PART_MS)
      }
      return plain
    },

    /** Part by part, the first of them at hand; undefined where that is gone. */
    async readInTurn(large: LargeBody, ingredient: string): Promise<AsyncIterable<Buffer> | undefined> {
      const first = await readPart(large, 0, ingredient)
      return first && inTurn(first)

      async function* inTurn(begins: Buffer): AsyncGenerator<Buffer> {
        yield begins
        for (let part = 1; part < partsOf(large.parts_bytes); part++) {
          const piece = await readPart(large, part, ingredient)
          if (!piece) throw new PartsGone(`the parts ${large.parts_id} went while they were read`)
          yield piece
        }
      }
    },
  }
}

async function pieceOf(plain: Buffer | BytesElsewhere, from: number, to: number): Promise<Buffer> {
  if (Buffer.isBuffer(plain)) return plain.subarray(from, to)
  const pieces: Buffer[] = []
  for await (const piece of plain.parts(from, to)) pieces.push(piece)
  return Buffer.concat(pieces)
}

const partsOf = (bytes: number) => Math.ceil(bytes / PART_BYTES)

/** Each is sealed for where it stands: none can be taken for another. */
const placeOf = (parts_id: string, part: number) => `large body ${parts_id} part ${part}`

/** In the transaction that takes them from their rows; some rows have none. */
export async function removeParts(tx: Db, rows: readonly Pick<LargeBodyColumns, 'parts_id'>[]): Promise<void> {
  const ids = rows.flatMap(({ parts_id }) => parts_id ?? [])
  if (ids.length > 0) await tx.rows(joined(fixed('DELETE FROM large_body_part WHERE '), isOneOf('parts_id', ids)))
}

/** The first part is what says that nobody has them: whoever takes that one takes all of them. */
async function takeLoose(tx: Db, which: Sql): Promise<number> {
  const loose = await tx.rows<{ parts_id: string }>(
    joined(
      fixed('DELETE FROM large_body_part WHERE part = 0 AND loose_since_ms IS NOT NULL AND parts_id IN ('),
      fixed('SELECT parts_id FROM large_body_part WHERE loose_since_ms IS NOT NULL AND '),
      which,
      fixed(') RETURNING parts_id'),
    ),
  )
  await removeParts(tx, loose)
  return loose.length
}

/** For purge jobs: of calls that are over. One that still runs writes its own anew. How many bodies had some. */
export const removeLooseParts = (tx: Db, project_id: string): Promise<number> =>
  takeLoose(tx, sql`project_id = ${project_id}`)

/** True where there may be more. */
export async function sweepLooseParts(db: Db, now: number): Promise<boolean> {
  const old = sql`loose_since_ms < ${now - LOOSE_MS} ORDER BY loose_since_ms LIMIT ${SWEPT_AT_ONCE}`
  return (await db.transaction((tx) => takeLoose(tx, old))) === SWEPT_AT_ONCE
}

/** What a row says of its parts; undefined where it has none. */
export const largeBodyOf = ({ parts_id, parts_bytes }: LargeBodyColumns): LargeBody | undefined =>
  parts_id === null || parts_bytes === null ? undefined : { parts_id, parts_bytes }
