// One turn of one channel: many subjects at once, each in its order, until nothing more waits or the time is over. What
// was sent is noted in batches; the next of a subject goes when the one before it is noted, so whoever dies in between
// leaves nothing to be told out of order.
import { type Clock, SECOND_MS } from '../core/clock.ts'
import { randomFraction } from '../core/ids.ts'
import type { StopSignal } from '../core/stop-signal.ts'
import { pauseAfter } from '../notifications/notification-delivery.ts'
import { LEASE_MS, type QueueStore, type Turn, type Waiting } from '../notifications/queue-store.ts'
import { deliveryHand } from './delivery-hand.ts'
import { noteBatches } from './note-batches.ts'
import type { Attempt, Sender } from './webhook-sending.ts'

/** Subjects of one channel at once: so many at first, and one more with each that is taken. A failure begins anew. */
const AT_ONCE_FIRST = 8
export const AT_ONCE_MAX = 32
const PICKED_AT_ONCE = 200
const IN_HAND_LOW = 100 // more are not looked for
const TURN_MS = 10 * SECOND_MS // then others are asked whether they wait
const SLOW_MS = SECOND_MS // an answer, on the average of a turn
const FAILURES_IN_A_ROW = 3 // before a channel that was well is left alone

export interface TurnNeeds {
  queues: QueueStore
  clock: Clock
  stopping: StopSignal
  onAttempt(kind: Turn['kind'], outcome: Attempt['outcome']): void
}

export function deliveryTurn(needs: TurnNeeds, turn: Turn, sender: Sender) {
  const { queues, clock, stopping, onAttempt } = needs
  const started_at = clock.now()
  const hand = deliveryHand()
  const noted = noteBatches((batch) => queues.note(turn, batch, clock.now()))
  const under_way = new Set<Promise<void>>()
  let state: 'going' | 'resting' | 'lost' = 'going'
  let renewed_at = started_at
  let failed_in_a_row = 0
  let taken_in_a_row = 0
  const waited = { attempts: 0, ms: 0 }
  let failure: unknown
  let wake = () => {}

  const isGoing = () => state === 'going' && !stopping.aborted
  /** A mail is a transaction of ours, which others wait for as well. */
  const most = turn.kind === 'mail' ? AT_ONCE_FIRST : AT_ONCE_MAX
  /** One that failed last is asked once, before more is sent to it. */
  const width = () => (turn.failures > 0 ? 1 : Math.min(most, AT_ONCE_FIRST + taken_in_a_row))

  /** True where some may have been missed, since they ended meanwhile. */
  async function lookForMore(): Promise<boolean> {
    if (hand.ready() >= width() - under_way.size || hand.size() > IN_HAND_LOW) return false
    return hand.fill(() => queues.next(turn, clock.now(), PICKED_AT_ONCE + hand.size()))
  }

  function begin(one: Waiting): void {
    const sending = send(one)
      .then((may_go_on) => hand.ended(one, may_go_on))
      .catch((error) => {
        state = 'lost'
        failure ??= error
      })
      .finally(() => {
        under_way.delete(sending)
        wake()
      })
    under_way.add(sending)
  }

  /** Whether the next of its subject may go. */
  async function send(one: Waiting): Promise<boolean> {
    const now = clock.now()
    const is_late = one.expires_at <= now
    const attempt: Attempt = is_late ? GIVEN_UP : await sender.attempt(one, now)
    waited.attempts++
    waited.ms += clock.now() - now
    if (stopping.aborted) return false // what was cut off says nothing about its receiver
    if (!is_late) onAttempt(turn.kind, attempt.outcome)
    const { outcome, ...told } = attempt
    const status = is_late ? 'failed' : outcome === 'taken' ? 'delivered' : 'waiting'
    const due_at = status === 'waiting' ? now + pauseAfter(one.attempts + 1, randomFraction()) : now
    if (!(await noted({ id: one.id, status, due_at, ...told }))) {
      state = 'lost'
      return false
    }
    if (!is_late) await pace(outcome, attempt.answer_status === null)
    return status !== 'waiting'
  }

  async function pace(outcome: Attempt['outcome'], is_unanswered: boolean): Promise<void> {
    if (outcome === 'taken') {
      failed_in_a_row = 0
      taken_in_a_row++
      if (turn.failures === 0) return
      turn.failures = 0
      return queues.paced(turn, 0, 0)
    }
    taken_in_a_row = 0
    if (outcome === 'gone') {
      state = 'resting'
      return queues.disable(turn)
    }
    // Who answers is there, and may be refusing one subject alone.
    const is_enough = ++failed_in_a_row >= (turn.failures > 0 || is_unanswered ? 1 : FAILURES_IN_A_ROW)
    if (!is_enough || state !== 'going') return
    state = 'resting'
    turn.failures++
    await queues.paced(turn, turn.failures, clock.now() + pauseAfter(turn.failures, randomFraction()))
  }

  async function renew(): Promise<void> {
    const now = clock.now()
    if (now - renewed_at < LEASE_MS / 4) return
    renewed_at = now
    if (!(await queues.renew(turn, now))) state = 'lost'
  }

  /** Sends as many as may go at once, and waits until one of them has ended. False where nothing is left. */
  async function step(): Promise<boolean> {
    await renew()
    const is_missing_some = await lookForMore()
    while (isGoing() && under_way.size < width()) {
      const one = hand.next()
      if (!one) break
      begin(one)
    }
    if (under_way.size === 0) return is_missing_some
    await new Promise<void>((resolve) => {
      wake = resolve
    })
    return true
  }

  return {
    async run(): Promise<void> {
      try {
        while (isGoing() && clock.now() - started_at < TURN_MS && (await step()));
      } finally {
        await Promise.all(under_way)
      }
      if (failure) throw failure
    },

    /** Whether it has kept its place for long, and with little to show for it. */
    isSlow: () => waited.ms > SLOW_MS * waited.attempts,
  }
}

const GIVEN_UP: Attempt = {
  outcome: 'failed',
  answer_status: null,
  answer: null,
  error: 'It was tried for a day, and is given up.',
}
