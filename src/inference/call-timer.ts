// R44: how long a call may take: until its deadline, and never longer than any call may. Before the first byte it then
// ends; of a stream that has begun, whoever forwards it decides (R71). And how long it lasts once its client has left.
import type { Clock } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'
import type { Stop } from '../core/stop-signal.ts'
import type { Call } from './call.ts'
import { ClientLeft } from './client.ts'

/** No generation outlives this, whatever its target says. */
const LONGEST_MS = 30 * 60_000

/** R26: the usage comes last. For so long it is waited for after a client has left; then the upstream is let go. */
const AFTER_LEAVING_MS = 2_000

export type CallTimer = ReturnType<typeof callTimer>

export function callTimer(call: Pick<Call, 'received_at' | 'deadline_at'>, stop: Stop, clock: Clock) {
  const longest_at = call.received_at + LONGEST_MS
  const { deadline_at = longest_at } = call
  let decide: (() => void) | undefined
  let hasContent = () => false
  let leaving: NodeJS.Timeout | undefined

  const end = () => stop.stop(tooLate(call))
  const endAt = (at: number, then: () => void) => setTimeout(then, Math.max(0, at - clock.now()))
  const onDeadline = () => (decide && deadline_at < longest_at ? decide() : end())

  if (deadline_at <= clock.now()) end() // while its body was on its way, say
  let timer = endAt(Math.min(deadline_at, longest_at), onDeadline)

  return {
    /** From now on, the deadline ends nothing by itself. */
    atDeadline(handler: () => void): void {
      decide = handler
    },
    /** A stream is being forwarded; it has something to pay for once content is there. */
    forwards(has: () => boolean): void {
      hasContent = has
    },
    clientLeft(): void {
      const left = () => stop.stop(new ClientLeft('the client left'))
      if (hasContent()) leaving = setTimeout(left, AFTER_LEAVING_MS)
      else left()
    },
    end,
    /** The deadline has passed and does not count any more. */
    runOn(): void {
      clearTimeout(timer)
      timer = endAt(longest_at, end)
    },
    clear(): void {
      clearTimeout(timer)
      clearTimeout(leaving)
    },
  }
}

/** R44, R45. */
const tooLate = ({ deadline_at }: Pick<Call, 'deadline_at'>) =>
  new Refusal(
    'deadline_exceeded',
    `The ${deadline_at === undefined ? 'time limit' : 'deadline'} has passed. Nothing was charged.`,
    { headers: { 'x-should-retry': 'false' } },
  )
