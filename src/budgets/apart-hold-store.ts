// Calls that have a row of their own beside the slices: those of child keys, whose budget is set aside already (R64),
// and those with a budget of their tags. What lies free for others of the project is not in the way of the latter.
import type { HoldOutcome } from './budget.ts'
import type { BudgetStore, Spender } from './budget-store.ts'

interface Holding {
  direct: Pick<BudgetStore, 'hold'>
  /** Gives back what lies free; whether anything did. */
  collect(spender: Spender): Promise<boolean>
}

export const isApart = ({ parent_id, tag_budgets }: Spender) => parent_id !== undefined || tag_budgets !== undefined

export async function holdApart(holding: Holding, spender: Spender, micros: number, now: number): Promise<HoldOutcome> {
  const { direct, collect } = holding
  const outcome = await direct.hold(spender, micros, now)
  if (outcome.kind !== 'refused' || spender.parent_id !== undefined) return outcome
  return (await collect(spender)) ? direct.hold(spender, micros, now) : outcome
}
