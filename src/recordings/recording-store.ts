// Recordings at rest: a row for each, and a row for each pack that they were written in. Newest first by the time of
// their end, which is also how they are swept and purged.
import type { Content } from '../contents/content.ts'
import { HOUR_MS } from '../core/clock.ts'
import { BATCH_ROWS, inBatches, mapped } from '../storage/batches.ts'
import { aside, beginning, type Db, fixed, joined, type Sql, type SqlValue, sql, together } from '../storage/db.ts'
import { isOneOf } from '../storage/erasing.ts'
import type { DroppedFor, StoredEntry } from './recording.ts'

export interface Pack {
  id: string
  project_id: string
  from_ms: number
  until_ms: number
  plain_bytes: number
  packed_bytes: number
  /** In the row itself, */
  sealed: Uint8Array | null
  /** or where large contents lie. */
  content: Content | null
}

/** One of a pack, and where in it. */
export interface Packed extends StoredEntry {
  pack_id: string
  starts_at: number
}

export interface Drop {
  project_id: string
  hour_ms: number
  reason: DroppedFor
  count: number
}

interface Row extends Omit<Packed, 'is_stream'> {
  is_stream: number
}

interface PackRow extends Omit<Pack, 'content'> {
  place: Content['place'] | null
  content_id: string | null
}

export interface Asked {
  since_ms: number
  /** R74: only what this key, this person, or a child of either made. */
  made_by?: string | undefined
  after?: Pick<Packed, 'at_ms' | 'trace_id'> | undefined
}

const entriesWhere = beginning(`
  SELECT trace_id, project_id, key_id, made_by, made_under, endpoint, status, is_stream, at_ms, request_bytes,
         answer_bytes, pack_id, starts_at
  FROM recording`)
const PACK = fixed(`
  SELECT id, project_id, from_ms, until_ms, plain_bytes, packed_bytes, sealed, place, content_id FROM recording_pack`)
const END = { at_ms: Number.MAX_SAFE_INTEGER, trace_id: '' }
const LOOKED_UP_AT_ONCE = 500
const SWEPT_AT_ONCE = 50

export function recordingStore(db: Db) {
  const packs = async (where: Sql) => (await db.rows<PackRow>(joined(PACK, where))).map(packOf)

  return {
    async find(project_id: string, trace_id: string, since_ms: number): Promise<Packed | undefined> {
      if (trace_id.includes('\0')) return undefined // T-37
      const [row] = await db.rows<Row>(entriesWhere`
        WHERE trace_id = ${trace_id} AND project_id = ${project_id} AND at_ms > ${since_ms}`)
      return row && fromRow(row)
    },

    async findPack(project_id: string, id: string): Promise<Pack | undefined> {
      const [found] = await packs(sql` WHERE id = ${id} AND project_id = ${project_id}`)
      return found
    },

    async recorded(project_id: string, trace_ids: readonly string[], since_ms: number): Promise<string[]> {
      const there: string[] = []
      const asked = trace_ids.filter((id) => !id.includes('\0'))
      for (let at = 0; at < asked.length; at += LOOKED_UP_AT_ONCE) {
        const some = isOneOf('trace_id', asked.slice(at, at + LOOKED_UP_AT_ONCE))
        const rows = await db.rows<{ trace_id: string }>(
          joined(
            sql`SELECT trace_id FROM recording WHERE project_id = ${project_id} AND at_ms > ${since_ms} AND `,
            some,
          ),
        )
        there.push(...rows.map(({ trace_id }) => trace_id))
      }
      return there
    },

    /** Newest first. */
    list: (project_id: string, { since_ms, made_by = '', after }: Asked) =>
      mapped(
        inBatches<Pick<Row, 'at_ms' | 'trace_id'>, Row>(after ?? END, ({ at_ms, trace_id }) =>
          db.rows<Row>(
            aside(entriesWhere`
              WHERE project_id = ${project_id} AND at_ms > ${since_ms}
                AND (${made_by} = '' OR made_by = ${made_by} OR made_under = ${made_by})
                AND (at_ms, trace_id) < (${at_ms}, ${trace_id})
              ORDER BY at_ms DESC, trace_id DESC LIMIT ${BATCH_ROWS}`),
          ),
        ),
        fromRow,
      ),

    /** A pack and what is in it. A trace id that is there already stays as it was. */
    async insert(pack: Pack, recordings: readonly Packed[]): Promise<void> {
      const { id, project_id, from_ms, until_ms, plain_bytes, packed_bytes, sealed, content } = pack
      await together([
        db.rows(sql`
          INSERT INTO recording_pack (id, project_id, from_ms, until_ms, plain_bytes, packed_bytes, sealed, place,
                                      content_id)
          VALUES (${id}, ${project_id}, ${from_ms}, ${until_ms}, ${plain_bytes}, ${packed_bytes}, ${sealed},
                  ${content?.place ?? null}, ${content?.content_id ?? null})`),
        ...inserts(recordings).map((statement) => db.rows(statement)),
      ])
    },

    /** What is still in a pack, in the order in which it lies there. */
    async inPack({ id, project_id, from_ms, until_ms }: Pack): Promise<Packed[]> {
      const rows = await db.rows<Row>(
        aside(entriesWhere`
          WHERE project_id = ${project_id} AND at_ms >= ${from_ms} AND at_ms <= ${until_ms} AND pack_id = ${id}
          ORDER BY starts_at`),
      )
      return rows.map(fromRow)
    },

    /** Until the transaction ends nobody else changes it; false where it is gone. */
    async lockPack(project_id: string, id: string): Promise<boolean> {
      const locked = await db.rows(sql`
        UPDATE recording_pack SET is_cut = is_cut WHERE project_id = ${project_id} AND id = ${id} RETURNING id`)
      return locked.length === 1
    },

    async removePack(project_id: string, id: string): Promise<void> {
      await db.rows(sql`DELETE FROM recording_pack WHERE project_id = ${project_id} AND id = ${id}`)
    },

    async moveTo({ project_id, trace_id, pack_id, starts_at }: Packed): Promise<void> {
      await db.rows(sql`
        UPDATE recording SET pack_id = ${pack_id}, starts_at = ${starts_at}
        WHERE project_id = ${project_id} AND trace_id = ${trace_id}`)
    },

    /** Whole packs whose last recording is over: some, and how many recordings they had. */
    packsBefore: (project_id: string, since_ms: number): Promise<Pack[]> =>
      packs(
        sql` WHERE project_id = ${project_id} AND until_ms <= ${since_ms} ORDER BY until_ms LIMIT ${SWEPT_AT_ONCE}`,
      ),

    async removeOf({ id, project_id, from_ms, until_ms }: Pack): Promise<number> {
      const gone = await db.rows(sql`
        DELETE FROM recording
        WHERE project_id = ${project_id} AND at_ms >= ${from_ms} AND at_ms <= ${until_ms} AND pack_id = ${id}
        RETURNING trace_id`)
      return gone.length
    },

    /** Some, for the work that cuts them. */
    cutPacks: (project_id: string): Promise<Pack[]> =>
      packs(sql` WHERE project_id = ${project_id} AND is_cut = 1 LIMIT ${SWEPT_AT_ONCE}`),

    /** Of all of them, for the sweep. */
    async projectsWithPacks(): Promise<string[]> {
      const rows = await db.rows<{ project_id: string }>(sql`
        SELECT project_id FROM project_quota WHERE kind = 'recordings_mib' AND present > 0`)
      return rows.map(({ project_id }) => project_id)
    },

    /** When the project's last purge job was made: what ended before that is not to be written any more. */
    async purgedUntil(project_id: string): Promise<number> {
      const [row] = await db.rows<{ as_of_ms: number }>(sql`
        SELECT as_of_ms FROM purge_job
        WHERE project_id = ${project_id} AND status IN ('queued', 'running', 'succeeded', 'failed')
        ORDER BY sequence DESC LIMIT 1`)
      return row?.as_of_ms ?? 0
    },

    async addDrops(drops: readonly Drop[]): Promise<void> {
      for (const { project_id, hour_ms, reason, count } of drops)
        await db.rows(sql`
          INSERT INTO recording_drop (project_id, hour_ms, reason, count)
          VALUES (${project_id}, ${hour_ms}, ${reason}, ${count})
          ON CONFLICT (project_id, hour_ms, reason) DO UPDATE SET count = recording_drop.count + excluded.count`)
    },

    /** By reason, over the hours from `since_ms` to `until_ms`. */
    async drops(project_id: string, since_ms: number, until_ms: number): Promise<Omit<Drop, 'project_id'>[]> {
      return db.rows<Omit<Drop, 'project_id'>>(sql`
        SELECT reason, CAST(SUM(count) AS BIGINT) AS count, MAX(hour_ms) AS hour_ms FROM recording_drop
        WHERE project_id = ${project_id} AND hour_ms > ${since_ms - HOUR_MS} AND hour_ms <= ${until_ms}
        GROUP BY reason ORDER BY reason`)
    },

    async forgetDrops(before_ms: number): Promise<void> {
      await db.rows(sql`DELETE FROM recording_drop WHERE hour_ms <= ${before_ms}`)
    },

    async recordsSince(project_id: string): Promise<number | null> {
      const [row] = await db.rows<{ records_since_ms: number | null }>(sql`
        SELECT records_since_ms FROM project WHERE id = ${project_id}`)
      return row?.records_since_ms ?? null
    },
  }
}

const COLUMNS = [
  ...['trace_id', 'project_id', 'key_id', 'made_by', 'made_under', 'endpoint', 'status', 'is_stream', 'at_ms'],
  ...['request_bytes', 'answer_bytes', 'pack_id', 'starts_at'],
] as const
/** So many rows in one statement, the most that still fit: each by itself costs twice as much. */
const ROWS_AT_ONCE = [64, 16, 4, 1] as const

/** The words of such a statement, which are the same each time. */
function insertOf(rows: number): readonly string[] {
  const values = `(${COLUMNS.map(() => '?').join(', ')})`
  const text = `INSERT INTO recording (${COLUMNS.join(', ')}) VALUES ${Array(rows).fill(values).join(', ')}
    ON CONFLICT (trace_id) DO NOTHING`
  return text.split('?')
}
const INSERTS = ROWS_AT_ONCE.map((rows) => ({ rows, text: insertOf(rows) }))

function inserts(recordings: readonly Packed[]): Sql[] {
  const statements: Sql[] = []
  let at = 0
  for (const { rows, text } of INSERTS)
    while (at + rows <= recordings.length) {
      const values: SqlValue[] = []
      for (const end = at + rows; at < end; at++) addValues(values, recordings[at] as Packed)
      statements.push({ text, values })
    }
  return statements
}

/** In the order of the columns. */
function addValues(values: SqlValue[], one: Packed): void {
  values.push(one.trace_id, one.project_id, one.key_id, one.made_by, one.made_under, one.endpoint, one.status)
  values.push(one.is_stream ? 1 : 0, one.at_ms, one.request_bytes, one.answer_bytes, one.pack_id, one.starts_at)
}

const fromRow = ({ is_stream, ...row }: Row): Packed => ({ is_stream: is_stream === 1, ...row })

const packOf = ({ place, content_id, ...row }: PackRow): Pack => ({
  content: place === null || content_id === null ? null : { place, content_id },
  ...row,
})
