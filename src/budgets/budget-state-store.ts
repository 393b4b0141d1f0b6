// What is held and which budgets are nearly spent, in the whole store: for the operator's metrics. Children of keys are
// left out: to be used up is what they are for (R64).
import { aside, type Db, sql } from '../storage/db.ts'

const NEAR_PCT = 80

interface CountedBudgets {
  of: 'key' | 'window' | 'project'
  used: '80' | '100'
  budgets: number
}

export interface BudgetState {
  holds: number
  held_micros: number
  near_end: CountedBudgets[]
}

interface NearRow {
  near: number
  spent: number
}

/** Each statement reads a whole table, aside. */
export async function budgetState(db: Db, now: number): Promise<BudgetState> {
  const [held] = await db.rows<{ holds: number; held_micros: number }>(
    aside(sql`
      SELECT COUNT(*) AS holds, CAST(COALESCE(SUM(micros), 0) AS BIGINT) AS held_micros FROM budget_hold`),
  )
  const [keys] = await db.rows<NearRow>(
    aside(sql`
      SELECT COUNT(*) AS near, COUNT(CASE WHEN used >= most THEN 1 END) AS spent
      FROM (SELECT spent_micros + held_micros AS used, budget_micros AS most FROM api_key
            WHERE status = 'active' AND parent_id IS NULL AND budget_micros > 0) AS limited
      WHERE used >= most / 100 * ${NEAR_PCT}`),
  )
  const [windows] = await db.rows<NearRow>(
    aside(sql`
      SELECT COUNT(*) AS near, COUNT(CASE WHEN used >= most THEN 1 END) AS spent
      FROM (SELECT window_spent_micros + held_micros AS used, window_limit_micros AS most FROM api_key
            WHERE status = 'active' AND parent_id IS NULL AND window_limit_micros > 0
              AND window_ends_at > ${now}) AS limited
      WHERE used >= most / 100 * ${NEAR_PCT}`),
  )
  const [projects] = await db.rows<NearRow>(
    aside(sql`
      SELECT COUNT(*) AS near, COUNT(CASE WHEN used >= most THEN 1 END) AS spent
      FROM (SELECT spent_micros + held_micros AS used,
                   CASE WHEN cap_micros IS NULL OR operator_cap_micros < cap_micros
                     THEN operator_cap_micros ELSE cap_micros END AS most FROM project) AS limited
      WHERE most > 0 AND used >= most / 100 * ${NEAR_PCT}`),
  )
  return {
    holds: held?.holds ?? 0,
    held_micros: held?.held_micros ?? 0,
    near_end: [...both('key', keys), ...both('window', windows), ...both('project', projects)],
  }
}

const both = (of: CountedBudgets['of'], row: NearRow | undefined): CountedBudgets[] => [
  { of, used: '80', budgets: row?.near ?? 0 },
  { of, used: '100', budgets: row?.spent ?? 0 },
]
