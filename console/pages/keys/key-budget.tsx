// What a key has spent of its limits: in all, in the window that runs now, and what its children hold of it.
import type { ApiKey } from '../../api/key-calls.ts'
import { count, money } from '../../parts/amounts.ts'
import { BudgetBar } from '../../parts/budget-bar.tsx'
import { TimeUntil } from '../../parts/time-until.tsx'

type KeyBudgetProps = Pick<ApiKey, 'spent_micros' | 'budget_micros' | 'window'> & {
  live_children: number
  carved_micros: number
  /** In a list, one bar for each key is enough: the rest is told in a line. */
  dense?: boolean
}

/** Where there is only a limit by the calendar, that is the one to watch. */
export function KeyBudget(props: KeyBudgetProps) {
  const { spent_micros, budget_micros, window, live_children, carved_micros, dense = false } = props
  const has_total = budget_micros !== undefined || !window
  return (
    <span className="two-lines budgets">
      {has_total && <BudgetBar spent_micros={spent_micros} held_micros={carved_micros} limit_micros={budget_micros} />}
      {window && dense && has_total && (
        <span className="muted">
          {money(window.spent_micros)} of {money(window.limit_micros)} {WORDS[window.period]}
        </span>
      )}
      {window && !(dense && has_total) && <WindowBudget window={window} held_micros={carved_micros} />}
      {live_children > 0 && (
        <span className="muted">
          {live_children === 1 ? '1 child holds' : `${count(live_children)} children hold`} {money(carved_micros)}
        </span>
      )}
    </span>
  )
}

const WORDS = { day: 'today', week: 'this week', month: 'this month' }

const WindowBudget = ({ window, held_micros }: { window: NonNullable<ApiKey['window']>; held_micros: number }) => (
  <>
    <BudgetBar spent_micros={window.spent_micros} held_micros={held_micros} limit_micros={window.limit_micros} />
    <span className="muted">
      {WORDS[window.period]}, resets <TimeUntil at={window.resets_at} />
    </span>
  </>
)
