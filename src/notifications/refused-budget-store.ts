// Limits that calls no longer fit into: noted in memory where a call is refused, told by a task a second later, once a
// day for each limit.
import { type Clock, rfc3339 } from '../core/clock.ts'
import { type Db, sql } from '../storage/db.ts'
import { tellOnce } from '../storage/telling.ts'
import { budgetRefused, type RefusedLimit } from './happening.ts'
import { noted } from './noted.ts'

const NOTED = { of_project_max: 50, of_all_max: 5_000 } // whose call is refused is mostly refused again
const DAY_LENGTH = '2026-11-15'.length

interface Refused {
  project_id: string
  key_id: string
  limit: 'key' | 'window' | 'project'
}

interface Row {
  name: string
  limit_micros: number | null
  spent_micros: number
}

export function refusedBudgets(db: Db, clock: Clock) {
  const notes = noted<Refused>(NOTED)

  async function limitOf({ project_id, key_id, limit }: Refused): Promise<Row | undefined> {
    const [row] = await (limit === 'project'
      ? db.rows<Row>(sql`
          SELECT name, spent_micros, CASE WHEN overage_enabled = 1 OR cap_micros IS NULL
            OR operator_cap_micros < cap_micros THEN operator_cap_micros ELSE cap_micros END AS limit_micros
          FROM project WHERE id = ${project_id}`)
      : limit === 'key'
        ? db.rows<Row>(sql`
            SELECT name, spent_micros, budget_micros AS limit_micros FROM api_key
            WHERE project_id = ${project_id} AND id = ${key_id}`)
        : db.rows<Row>(sql`
            SELECT name, CASE WHEN window_ends_at > ${clock.now()} THEN window_spent_micros ELSE 0 END AS spent_micros,
                   window_limit_micros AS limit_micros
            FROM api_key WHERE project_id = ${project_id} AND id = ${key_id}`))
    return row
  }

  async function tellOf(refused: Refused): Promise<void> {
    const { project_id, key_id, limit } = refused
    const found = await limitOf(refused)
    if (!found?.limit_micros) return // 0 was set to block
    const { name, limit_micros, spent_micros } = found
    const id = limit === 'project' ? project_id : key_id
    const told: RefusedLimit = { project_id, id, limit, name, limit_micros, spent_micros }
    const now = clock.now()
    const mark = { mark: `refused ${limit} ${id}`, state: `${limit_micros} ${rfc3339(now).slice(0, DAY_LENGTH)}` }
    await db.transaction((tx) => tellOnce(tx, mark, budgetRefused(told), now))
  }

  return {
    note(refused: Refused): void {
      const { project_id, key_id, limit } = refused
      const name = limit === 'project' ? project_id : `${limit} ${key_id}`
      if (!notes.has(name)) notes.note(name, { project_id, one: { project_id, key_id, limit } })
    },

    async flush(): Promise<void> {
      for (const [name, refused] of notes.all()) {
        await tellOf(refused)
        notes.told(name, refused)
      }
    },
  }
}
