// Spending by hour, and the same hour of the weeks before: what `spending-anomaly.ts` judges.
import { HOUR_MS } from '../core/clock.ts'
import { type Db, sql } from '../storage/db.ts'
import { tellOnce } from '../storage/telling.ts'
import { spendAnomaly } from './happening.ts'
import { judgeHour, WEEKS } from './spending-anomaly.ts'

const WEEK_MS = 7 * 24 * HOUR_MS
/** Usage is added up within seconds; an hour is judged this long after its end. */
const SETTLED_MS = HOUR_MS / 12
const PROJECTS_MAX = 10_000

export function anomalyStore(db: Db) {
  /** What was spent in the hour, and in the same hour of the weeks before in which the project was there. */
  async function spentIn(project_id: string, start_ms: number, first_ms: number) {
    const oldest_ms = start_ms - WEEKS * WEEK_MS
    const rows = await db.rows<{ start_ms: number; micros: number }>(sql`
      SELECT start_ms, charged_micros AS micros FROM usage_rollup
      WHERE project_id = ${project_id} AND cube = 'hour:total' AND start_ms >= ${oldest_ms} AND start_ms <= ${start_ms}
        AND (${start_ms} - start_ms) % ${WEEK_MS} = 0`)
    const by_hour = new Map(rows.map((row) => [row.start_ms, row.micros]))
    const hours = Array.from({ length: WEEKS }, (_, week) => start_ms - (week + 1) * WEEK_MS)
    const before = hours.filter((hour) => hour >= first_ms).map((hour) => by_hour.get(hour) ?? 0)
    return { spent_micros: by_hour.get(start_ms) ?? 0, before }
  }

  return {
    /** The last hour that is over, of every project that wants to know. */
    async look(now: number): Promise<void> {
      const start_ms = Math.floor((now - SETTLED_MS) / HOUR_MS) * HOUR_MS - HOUR_MS
      const projects = await db.rows<{ id: string; created_at: string }>(sql`
        SELECT p.id, p.created_at FROM project p WHERE EXISTS (
          SELECT 1 FROM notification_channel c WHERE c.project_id = p.id AND c.status = 'active'
            AND (c.events = '*' OR c.events LIKE '%,spend.anomaly,%'))
        LIMIT ${PROJECTS_MAX}`)
      for (const { id, created_at } of projects) {
        const { spent_micros, before } = await spentIn(id, start_ms, Date.parse(created_at))
        const verdict = judgeHour(spent_micros, before)
        if (!verdict?.is_anomaly) continue
        const { usual_micros, limit_micros } = verdict
        const event = spendAnomaly(id, { hour_start_ms: start_ms, spent_micros, usual_micros, limit_micros })
        await db.transaction((tx) => tellOnce(tx, { mark: 'anomaly', state: String(start_ms) }, event, now))
      }
    },
  }
}
