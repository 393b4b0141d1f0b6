// What of a limit is spent, what is set aside for what is under way, and what is left.
import { money } from './amounts.ts'

interface Budget {
  spent_micros: number
  held_micros?: number | undefined
  /** Undefined: there is no limit. */
  limit_micros: number | undefined
}

interface Caps {
  cap_micros?: number | undefined
  operator_cap_micros?: number | undefined
}

/** R79: the operator's cap stands beside the project's own, and the lower binds. */
export const bindingCap = ({ cap_micros = Infinity, operator_cap_micros = Infinity }: Caps) => {
  const lower = Math.min(cap_micros, operator_cap_micros)
  return lower === Infinity ? undefined : lower
}

export type BudgetLevel = 'open' | 'fine' | 'near' | 'reached'

const NEAR = 0.8

export function budgetLevel({ spent_micros, held_micros = 0, limit_micros }: Budget): BudgetLevel {
  if (limit_micros === undefined) return 'open'
  const taken = spent_micros + held_micros
  if (taken >= limit_micros) return 'reached'
  return taken >= NEAR * limit_micros ? 'near' : 'fine'
}

const share = (part: number, whole: number) => (whole === 0 ? 100 : Math.min(100, (100 * part) / whole))

export function BudgetBar(budget: Budget) {
  const { spent_micros, held_micros = 0, limit_micros } = budget
  const held = held_micros > 0 ? `, ${money(held_micros)} held` : ''
  if (limit_micros === undefined)
    return (
      <div className="budget">
        <span className="budget-text">
          {money(spent_micros)} <span className="muted">spent{held}, no limit</span>
        </span>
      </div>
    )
  const level = budgetLevel(budget)
  const spent = share(spent_micros, limit_micros)
  return (
    <div className="budget" data-level={level}>
      <span className="budget-text">
        {money(spent_micros)} <span className="muted">of {money(limit_micros)}</span>
        {held_micros > 0 && <span className="muted">, {money(held_micros)} held</span>}
        {level === 'reached' && <strong className="budget-word"> limit reached</strong>}
        {level === 'near' && <strong className="budget-word"> near the limit</strong>}
      </span>
      {/* The words above say it all; the bar is for the eye. */}
      <div className="budget-bar" aria-hidden="true">
        <span className="budget-spent" style={{ width: `${spent}%` }} />
        <span
          className="budget-held"
          style={{ width: `${Math.min(100 - spent, share(held_micros, limit_micros))}%` }}
        />
      </div>
    </div>
  )
}
