// Sends what waits in the queues of the channels (R78): each channel by itself, so many at once; those that fail, and
// those that take long to answer, in lanes of their own. A receiver delays its own events, and nobody else's.
import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../core/clock.ts'
import { randomBase62 } from '../core/ids.ts'
import { Stop } from '../core/stop-signal.ts'
import type { DueChannel, QueueStore, Turn } from '../notifications/queue-store.ts'
import { AT_ONCE_MAX, deliveryTurn } from './delivery-turn.ts'
import type { Attempt, OpenSender } from './webhook-sending.ts'

/** Channels at once, in all and of one project. */
const LANES = {
  well: { channels: 24, of_a_project: 4 },
  slow: { channels: 8, of_a_project: 2 },
  failing: { channels: 8, of_a_project: 2 },
} as const
const LOOKED_AT = 1_000 // of those that are due: many may be of one project
const SLOW_MAX = 10_000 // are remembered; it is known again after a turn

export interface RunNeeds {
  queues: QueueStore
  open: OpenSender
  clock: Clock
  log: FastifyBaseLogger
  onAttempt?: (kind: Turn['kind'], outcome: Attempt['outcome']) => void
}

type Lane = keyof typeof LANES

const ignore = () => {}

export function deliveryRun(needs: RunNeeds) {
  const { queues, open, clock, log, onAttempt = ignore } = needs
  const running = new Map<string, { lane: Lane; project_id: string; done: Promise<void> }>()
  const slow = new Set<string>()
  const stopping = new Stop()

  const inLane = (lane: Lane) => [...running.values()].filter((one) => one.lane === lane)

  function hasRoom(lane: Lane, project_id: string): boolean {
    const { channels, of_a_project } = LANES[lane]
    const present = inLane(lane)
    return present.length < channels && present.filter((one) => one.project_id === project_id).length < of_a_project
  }

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
    const sender = open(turn, AT_ONCE_MAX, stopping)
    try {
      const sending = deliveryTurn({ queues, clock, stopping, onAttempt }, turn, sender)
      await sending.run()
      if (!sending.isSlow()) slow.delete(turn.id)
      else if (slow.size < SLOW_MAX) slow.add(turn.id)
    } finally {
      await sender.close()
      await queues.release(turn, clock.now())
    }
  }

  return {
    /** Begins with whatever is due and has room, and does not wait for it. */
    async tick(): Promise<void> {
      for (const is_failing of [false, true]) {
        if (stopping.aborted) return
        for (const channel of await queues.due(is_failing, clock.now(), LOOKED_AT)) {
          const lane = is_failing ? 'failing' : slow.has(channel.id) ? 'slow' : 'well'
          if (!running.has(channel.id) && hasRoom(lane, channel.project_id)) start(channel, lane)
        }
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
