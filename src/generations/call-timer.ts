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

type Timed = Pick<Call, 'received_at' | 'deadline_at'>

/** A stream that is being forwarded. */
export interface Forwarded {
  /** It has something to pay for. */
  hasContent(): boolean
  /** From when it is forwarded on, its deadline ends nothing by itself. */
  atDeadline(): void
}

export class CallTimer {
  readonly #call: Timed
  readonly #stop: Stop
  readonly #clock: Clock
  readonly #longest_at: number
  #timer: NodeJS.Timeout
  #leaving: NodeJS.Timeout | undefined
  #forwarded: Forwarded | undefined
  #has_run_on = false

  constructor(call: Timed, stop: Stop, clock: Clock) {
    this.#call = call
    this.#stop = stop
    this.#clock = clock
    this.#longest_at = call.received_at + LONGEST_MS
    const { deadline_at = this.#longest_at } = call
    const now = clock.now()
    if (deadline_at <= now) this.end() // while its body was on its way, say
    const ends_at = Math.min(deadline_at, this.#longest_at)
    this.#timer = setTimeout(onTime, Math.max(0, ends_at - now), this)
  }

  forwards(stream: Forwarded): void {
    this.#forwarded = stream
  }

  clientLeft(): void {
    const left = () => this.#stop.stop(new ClientLeft('the client left'))
    if (this.#forwarded?.hasContent()) this.#leaving ??= setTimeout(left, AFTER_LEAVING_MS)
    else left()
  }

  timeIsUp(): void {
    const { deadline_at } = this.#call
    if (this.#forwarded && deadline_at !== undefined && deadline_at < this.#longest_at) this.#forwarded.atDeadline()
    else this.end()
  }

  end(): void {
    this.#stop.stop(this.tooLate(false))
  }

  /** R44, R45, R71: what is told of a call whose time is over. */
  tooLate(is_charged: boolean): Refusal {
    const has_deadline = this.#call.deadline_at !== undefined && !this.#has_run_on
    const money = is_charged ? 'What had come was charged.' : 'Nothing was charged.'
    return new Refusal('deadline_exceeded', `The ${has_deadline ? 'deadline' : 'time limit'} has passed. ${money}`, {
      headers: { 'x-should-retry': 'false' },
    })
  }

  /** The deadline has passed and does not count any more. */
  runOn(): void {
    clearTimeout(this.#timer)
    this.#has_run_on = true
    this.#timer = setTimeout(() => this.end(), Math.max(0, this.#longest_at - this.#clock.now()))
  }

  clear(): void {
    clearTimeout(this.#timer)
    clearTimeout(this.#leaving)
  }
}

const onTime = (timer: CallTimer) => timer.timeIsUp()
