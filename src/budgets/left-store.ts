// What the limits of a key and its project still leave (R43, R65), asked once something did not fit.
import { type Db, sql } from '../storage/db.ts'
import type { HoldOutcome, Limit } from './budget.ts'
import { type Period, windowEnd } from './budget-window.ts'
import type { DoesNotFit } from './ledger-store.ts'
import { leftByTags } from './tag-ledger-store.ts'

export interface Spender {
  key_id: string
  project_id: string
  /** R64: of a child key. */
  parent_id?: string | undefined
  /** R72: the project's cap refuses nothing; what a charge is above it is counted. */
  counts_overage?: boolean | undefined
  /** Where there is a cap that refuses. */
  project_cap_micros?: number | undefined
  /** Budgets of the call's tags, by their ids. */
  tag_budgets?: readonly string[] | undefined
}

export interface Left {
  /** What each limit leaves, in the order in which they are asked; below 0 where a limit was lowered meanwhile. */
  by: readonly (readonly [Limit, number])[]
  period: Period | null
  /** How many children of the project have expired and not given back yet. */
  due: number
  ended: boolean
}

interface LeftRow extends Record<'by_key' | 'by_window' | 'by_project', number | null> {
  period: Period | null
  expires_at: number | null
  returned_at: number | null
  due: number
}

export async function leftFor(db: Db, spender: Spender, now: number): Promise<Left> {
  const { key_id, project_id, parent_id, tag_budgets = [] } = spender
  const [left] = await db.rows<LeftRow>(sql`
    SELECT k.budget_micros - k.spent_micros - k.held_micros AS by_key,
           k.window_limit_micros - k.held_micros -
             CASE WHEN k.window_ends_at > ${now} THEN k.window_spent_micros ELSE 0 END AS by_window,
           CASE WHEN p.overage_enabled = 1 OR p.cap_micros IS NULL OR p.operator_cap_micros < p.cap_micros
             THEN p.operator_cap_micros ELSE p.cap_micros END - p.spent_micros - p.held_micros AS by_project,
           k.window_period AS period, k.expires_at, k.returned_at,
           (SELECT COUNT(*) FROM api_key c WHERE c.project_id = p.id AND c.parent_id IS NOT NULL
              AND c.returned_at IS NULL AND c.expires_at <= ${now}) AS due
    FROM project p LEFT JOIN api_key k ON k.project_id = p.id AND k.id = ${key_id}
    WHERE p.id = ${project_id}`)
  const isChild = parent_id !== undefined // what the project holds for it is its own
  const limits: [Limit, number | null | undefined][] = [
    ['project', isChild ? null : left?.by_project],
    ['key', left?.by_key],
    ['window', left?.by_window],
    ['tag', await leftByTags(db, project_id, tag_budgets)],
  ]
  const by = limits.filter((one): one is [Limit, number] => typeof one[1] === 'number')
  const ended = isChild && (left?.returned_at != null || (left?.expires_at ?? now) <= now)
  return { by, period: left?.period ?? null, due: left?.due ?? 0, ended }
}

/** What all limits together leave; a very large number where there is none. */
export const leastOf = ({ by }: Left): number => Math.min(Number.MAX_SAFE_INTEGER, ...by.map(([, micros]) => micros))

/** The same after so many micros more were taken; fewer than none where some came free. */
export const leftAfter = (left: Left, taken_micros: number): Left => ({
  ...left,
  by: left.by.map(([limit, micros]) => [limit, micros - taken_micros]),
})

export function refusal({ limit }: Pick<DoesNotFit, 'limit'>, left: Left, now: number): HoldOutcome {
  const { period } = left
  const resets = limit === 'window' && period !== null && { resets_at: windowEnd(period, now) }
  return { kind: 'refused', limit, available_micros: Math.max(0, leastOf(left)), ...resets }
}

/** By the limit that is in its own way, where it was asked for together with others. */
export function refusalOf({ micros, now }: { micros: number; now: number }, limit: Limit, left: Left): HoldOutcome {
  const in_the_way = left.by.find(([, leaves]) => leaves < micros)?.[0] ?? limit
  return refusal({ limit: in_the_way }, left, now)
}
