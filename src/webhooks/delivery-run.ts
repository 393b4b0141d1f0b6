// Sends what waits in the queues of the channels (R78): each channel by itself, so many at once, those that fail in a
// lane of their own. A receiver that is dead or slow delays its own events, and nobody else's.
import type { FastifyBaseLogger } from 'fastify'
import { type Clock, SECOND_MS } from '../core/clock.ts'
import { randomBase62, randomFraction } from '../core/ids.ts'
import { Stop } from '../core/stop-signal.ts'
import { bySubject, pauseAfter } from '../notifications/notification-delivery.ts'
import { type DueChannel, LEASE_MS, type QueueStore, type Turn, type Waiting } from '../notifications/queue-store.ts'
import type { Attempt, OpenSender, Sender } from './webhook-sending.ts'

const LANES = { well: 24, failing: 8 } as const // channels at once
const OF_A_PROJECT_MAX = 4
const AT_ONCE = 8 // subjects of one channel
const BATCH = 200
const TURN_MS = 10 * SECOND_MS // then others are asked whether they wait
const FAILURES_IN_A_ROW = 3 // before a channel that was well is left alone

export interface RunNeeds {
  queues: QueueStore
  open: OpenSender
  clock: Clock
  log: FastifyBaseLogger
  onAttempt?: (kind: Turn['kind'], outcome: Attempt['outcome']) => void
}

type Lane = keyof typeof LANES

const ignore = () => {}

export type DeliveryRun = ReturnType<typeof deliveryRun>

export function deliveryRun(needs: RunNeeds) {
  const { queues, open, clock, log, onAttempt = ignore } = needs
  const running = new Map<string, { lane: Lane; project_id: string; done: Promise<void> }>()
  const stopping = new Stop()

  const roomIn = (lane: Lane) => LANES[lane] - [...running.values()].filter((one) => one.lane === lane).length
  const ofProject = (id: string) => [...running.values()].filter(({ project_id }) => project_id === id).length

  function start(channel: DueChannel, lane: Lane): void {
    const { id, project_id } = channel
    const done = take(channel)
      .catch((err) => log.error({ err, channel_id: id }, 'deliveries of a channel failed'))
      .finally(() => running.delete(id))
    running.set(id, { lane, project_id, done })
  }

  async function take(channel: DueChannel): Promise<void> {
    const turn = await queues.take(channel, randomBase62(20), clock.now())
    if (!turn) return
    const sender = open(turn, AT_ONCE, stopping)
    try {
      await sendInTurn({ turn, sender, started_at: clock.now(), renewed_at: clock.now(), state: 'going', in_a_row: 0 })
    } finally {
      await sender.close()
      await queues.release(turn, clock.now())
    }
  }

  async function sendInTurn(sending: Sending): Promise<void> {
    while (isGoing(sending) && clock.now() - sending.started_at < TURN_MS) {
      const batch = await queues.next(sending.turn, clock.now(), BATCH)
      if (batch.length === 0) return
      const subjects = bySubject(batch)
      // One that failed last is asked once, before more is sent to it.
      const lanes = sending.turn.failures > 0 ? 1 : AT_ONCE
      await Promise.all(Array.from({ length: lanes }, () => lane(sending, subjects, lanes)))
    }
  }

  async function lane(sending: Sending, subjects: Waiting[][], lanes: number): Promise<void> {
    for (let next = subjects.shift(); next && isGoing(sending); next = subjects.shift()) {
      await sendSubject(sending, next)
      if (lanes === 1 && sending.turn.failures === 0) return // it is well again: the next batch goes at full width
    }
  }

  /** One after the other, each noted before the next; the first that fails holds back the rest. */
  async function sendSubject(sending: Sending, waiting: readonly Waiting[]): Promise<void> {
    for (const one of waiting) {
      if (!isGoing(sending) || !(await isRenewed(sending))) return
      if (!(await isSent(sending, one))) return
    }
  }

  async function isSent(sending: Sending, one: Waiting): Promise<boolean> {
    const { turn, sender } = sending
    const now = clock.now()
    const late = one.expires_at <= now
    const attempt: Attempt = late ? GIVEN_UP : await sender.attempt(one, now)
    if (stopping.aborted) return false // what was cut off says nothing about its receiver
    if (!late) onAttempt(turn.kind, attempt.outcome)
    const { outcome, ...told } = attempt
    const status = late ? 'failed' : outcome === 'taken' ? 'delivered' : 'waiting'
    const due_at = status === 'waiting' ? now + pauseAfter(one.attempts + 1, randomFraction()) : now
    if (!(await queues.note(turn, one, { status, due_at, ...told }, clock.now()))) {
      sending.state = 'lost'
      return false
    }
    if (!late) await pace(sending, outcome, attempt.answer_status === null)
    return status !== 'waiting'
  }

  async function pace(sending: Sending, outcome: Attempt['outcome'], unanswered: boolean): Promise<void> {
    const { turn } = sending
    if (outcome === 'taken') {
      sending.in_a_row = 0
      if (turn.failures === 0) return
      turn.failures = 0
      return queues.paced(turn, 0, 0)
    }
    if (outcome === 'gone') {
      sending.state = 'resting'
      return queues.disable(turn)
    }
    // Who answers is there, and may be refusing one subject alone.
    const is_enough = ++sending.in_a_row >= (turn.failures > 0 || unanswered ? 1 : FAILURES_IN_A_ROW)
    if (!is_enough || sending.state !== 'going') return
    sending.state = 'resting'
    turn.failures++
    await queues.paced(turn, turn.failures, clock.now() + pauseAfter(turn.failures, randomFraction()))
  }

  async function isRenewed(sending: Sending): Promise<boolean> {
    const now = clock.now()
    if (now - sending.renewed_at < LEASE_MS / 4) return true
    sending.renewed_at = now
    if (await queues.renew(sending.turn, now)) return true
    sending.state = 'lost'
    return false
  }

  const isGoing = ({ state }: Sending) => state === 'going' && !stopping.aborted

  return {
    /** Begins with whatever is due and has room, and does not wait for it. */
    async tick(): Promise<void> {
      for (const lane of ['well', 'failing'] as const) {
        const room = roomIn(lane)
        if (room === 0 || stopping.aborted) continue
        for (const channel of await queues.due(lane === 'failing', clock.now(), 2 * LANES[lane]))
          if (roomIn(lane) > 0 && !running.has(channel.id) && ofProject(channel.project_id) < OF_A_PROJECT_MAX)
            start(channel, lane)
      }
    },

    /** Resolves once nothing is under way. */
    async settled(): Promise<void> {
      await Promise.all([...running.values()].map(({ done }) => done))
    },

    async stop(): Promise<void> {
      stopping.stop(new Error('the server stops'))
      await this.settled()
    },
  }
}

interface Sending {
  turn: Turn
  sender: Sender
  started_at: number
  renewed_at: number
  state: 'going' | 'resting' | 'lost'
  /** Failures since the last success of this turn. */
  in_a_row: number
}

const GIVEN_UP: Attempt = {
  outcome: 'failed',
  answer_status: null,
  answer: null,
  error: 'It was tried for a day, and is given up.',
}
