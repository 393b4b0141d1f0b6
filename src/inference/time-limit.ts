// How long a generation may take: until the deadline of its hints (R44), and never longer than half an hour.
import { Refusal } from '../core/refusal.ts'
import type { Call } from './call.ts'

/** No generation outlives this, whatever its target says. */
const LONGEST_MS = 30 * 60_000

type Limited = Pick<Call, 'deadline_at'>

export const remaining = ({ deadline_at }: Limited, now: number) =>
  deadline_at === undefined ? LONGEST_MS : Math.min(LONGEST_MS, Math.max(0, deadline_at - now))

/** R44, R45. */
export const tooLate = ({ deadline_at }: Limited) =>
  new Refusal(
    'deadline_exceeded',
    `The ${deadline_at === undefined ? 'time limit' : 'deadline'} has passed. Nothing was charged.`,
    {
      headers: { 'x-should-retry': 'false' },
    },
  )
