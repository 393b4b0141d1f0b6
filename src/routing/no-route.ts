// What a client is told whose request nothing can take (R40, R72, R73). Pure.
import { SECOND_MS } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'
import type { Dropped } from './target.ts'

/** R45: what stays as it is until somebody changes it is not to be tried again. */
const FOR_GOOD = { headers: { 'x-should-retry': 'false' } }

export function noneFits(model: string, dropped: readonly Dropped[]): Refusal {
  const reasons = [...new Set(dropped.map(({ target, reason }) => `${target}: ${reason}`))].join('; ')
  const has = (kind: Dropped['kind']) => dropped.some((one) => one.kind === kind)
  if (!has('now') && has('allowance'))
    return new Refusal('quota_exceeded', `Nothing is left that may serve '${model}' (${reasons}).`, FOR_GOOD)
  if (!has('now') && has('region'))
    return new Refusal('insufficient_scope', `The project's regions do not allow '${model}' (${reasons}).`, FOR_GOOD)
  // Only of a target that is left alone is it known when it will be tried again.
  const waits = dropped.flatMap(({ wait_ms }) => wait_ms ?? [])
  const wait_s = Math.max(1, Math.ceil(Math.min(...waits) / SECOND_MS))
  const headers = waits.length > 0 ? { 'retry-after': String(wait_s) } : {}
  return new Refusal('unavailable', `No target for '${model}' can take calls now (${reasons}).`, { headers })
}
