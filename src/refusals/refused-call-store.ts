// Refused generations at rest (R80), under their trace id. Written in bulk, off the path of requests; swept after 30
// days; of one project never many more than its quota.
import { type Db, joined, sql } from '../storage/db.ts'
import { type Between, KEPT_CALL_MS, KEPT_CALLS_MAX, type Narrowed, type RefusedCall } from './refused-call.ts'

const SWEEP_MAX = 1_000 // bounds how long one statement holds the store

type Row = Pick<RefusedCall, 'trace_id' | 'project_id' | 'key_id' | 'kind' | 'at_ms' | 'model' | 'count'> & {
  detail: string
}
type Detail = Omit<RefusedCall, Exclude<keyof Row, 'detail'>>

function fromRow({ detail, ...columns }: Row): RefusedCall {
  return { ...columns, ...(JSON.parse(detail) as Detail) }
}

export function refusedCallStore(db: Db) {
  return {
    async add(calls: readonly RefusedCall[]): Promise<void> {
      await db.transaction(async (tx) => {
        for (const { trace_id, project_id, key_id, kind, at_ms, model, count, ...detail } of calls)
          await tx.rows(sql`
            INSERT INTO refused_call (trace_id, project_id, key_id, kind, at_ms, model, count, detail)
            VALUES (${trace_id}, ${project_id}, ${key_id}, ${kind}, ${at_ms}, ${model}, ${count},
              ${JSON.stringify(detail satisfies Detail)})
            ON CONFLICT (trace_id) DO UPDATE SET count = refused_call.count + excluded.count`)
      })
    },

    async find(project_id: string, trace_id: string): Promise<RefusedCall | undefined> {
      const [row] = await db.rows<Row>(sql`
        SELECT trace_id, project_id, key_id, kind, at_ms, model, count, detail FROM refused_call
        WHERE trace_id = ${trace_id} AND project_id = ${project_id}`)
      return row && fromRow(row)
    },

    /** Newest first. Of one millisecond they are in no order: what is read may end in the middle of it. */
    async list(project_id: string, { from_ms, to_ms }: Between, narrowed: Narrowed, limit: number) {
      const parts = [
        sql`SELECT trace_id, project_id, key_id, kind, at_ms, model, count, detail FROM refused_call
          WHERE project_id = ${project_id} AND at_ms >= ${from_ms} AND at_ms <= ${to_ms}`,
      ]
      if (narrowed.key_id !== null) parts.push(sql` AND key_id = ${narrowed.key_id}`)
      if (narrowed.layer !== null) parts.push(sql` AND kind = ${narrowed.layer}`)
      if (narrowed.model !== null) parts.push(sql` AND model = ${narrowed.model}`)
      const rows = await db.rows<Row>(joined(...parts, sql` ORDER BY at_ms DESC LIMIT ${limit}`))
      return rows.map(fromRow)
    },

    /** When the one was refused that so many are newer than. */
    async passed(project_id: string, { from_ms, to_ms }: Between, rows: number): Promise<number | undefined> {
      const [row] = await db.rows<{ at_ms: number }>(sql`
        SELECT at_ms FROM refused_call WHERE project_id = ${project_id} AND at_ms >= ${from_ms} AND at_ms <= ${to_ms}
        ORDER BY at_ms DESC LIMIT 1 OFFSET ${rows}`)
      return row?.at_ms
    },

    /** The newest stay. */
    async trim(project_id: string): Promise<void> {
      await db.rows(sql`
        DELETE FROM refused_call WHERE project_id = ${project_id} AND at_ms < (
          SELECT at_ms FROM refused_call WHERE project_id = ${project_id}
          ORDER BY at_ms DESC LIMIT 1 OFFSET ${KEPT_CALLS_MAX - 1})`)
    },

    /** True while there may be more. */
    async sweep(now: number): Promise<boolean> {
      const swept = await db.rows(sql`
        DELETE FROM refused_call WHERE trace_id IN (
          SELECT trace_id FROM refused_call WHERE at_ms <= ${now - KEPT_CALL_MS} LIMIT ${SWEEP_MAX})
        RETURNING trace_id`)
      return swept.length >= SWEEP_MAX
    },
  }
}
