// Which target a call asks next (R47): the candidates of its route, one after the other; and the same one again where
// the rule lets it (answers/retry-rule.ts), within the bounds of target and call, never beyond the call's deadline.
import { pauseOf, RETRIES_MAX, type Retry } from '../answers/retry-rule.ts'
import { randomFraction } from '../core/ids.ts'
import type { StopSignal } from '../core/stop-signal.ts'
import type { Target } from '../routing/target.ts'

interface Again {
  target: Target
  pause_ms: number
}

/** What is known of time: now, and when the call must have ended. */
interface Times {
  now: number
  deadline_at: number | undefined
}

export class TargetOrder {
  /** The target is one that has failed this call before. */
  is_retry = false
  /** How long to wait before it is asked. */
  pause_ms = 0
  readonly #candidates: readonly Target[]
  #at = 0
  #retried: Target[] | undefined
  #first: Again | undefined
  #last: Again[] | undefined

  constructor(candidates: readonly Target[]) {
    this.#candidates = candidates
  }

  next(): Target | undefined {
    const again = this.#first ?? (this.#at < this.#candidates.length ? undefined : this.#last?.shift())
    this.#first = undefined
    this.is_retry = again !== undefined
    this.pause_ms = again?.pause_ms ?? 0
    return again ? again.target : this.#candidates[this.#at++]
  }

  /** The target failed in a way that lets it be asked again. */
  again(target: Target, retry: Retry, { now, deadline_at }: Times): void {
    this.#retried ??= []
    const tries = this.#retried.length
    const of_target = this.#retried.filter((one) => one === target).length
    if (tries >= RETRIES_MAX || of_target >= (target.dialling.retries ?? 0)) return
    const pause_ms = pauseOf(retry, tries, randomFraction())
    if (deadline_at !== undefined && now + pause_ms >= deadline_at) return
    this.#retried.push(target)
    if (retry.is_next) {
      this.#first = { target, pause_ms }
    } else {
      this.#last ??= []
      this.#last.push({ target, pause_ms })
    }
  }
}

/** Ends early where the call is stopped. */
export function paused(pause_ms: number, stop: StopSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      stop.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, pause_ms)
    if (stop.aborted) done()
    else stop.addEventListener('abort', done)
  })
}
