// A delivery: one event on its way to one channel, and how often it is tried.
import { type Static, Type } from 'typebox'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../core/clock.ts'
import { orNull, time } from '../core/shapes.ts'
import { wholeNumber } from '../core/text-values.ts'

export const ANSWER_MAX = 1_024 // characters of an answer that are kept
const PAUSE_FIRST_MS = SECOND_MS
const PAUSE_MAX_MS = 10 * MINUTE_MS
const JITTER = 0.25
export const LOG_KEPT_MS = 7 * 24 * HOUR_MS
export const LOG_MAX = 10_000 // of one channel
const LIMIT_MAX = 1_000

export const DELIVERY_STATUSES = ['waiting', 'delivered', 'failed', 'dropped'] as const

export const Delivery = Type.Object(
  {
    id: Type.String({ description: 'Opaque, begins `dlv_`.' }),
    object: Type.Literal('notification_delivery'),
    channel_id: Type.String(),
    event_id: Type.String({ description: 'The `webhook-id` of every attempt. Begins `evt_`.' }),
    type: Type.String(),
    subject: Type.String({ description: 'What it happened to.' }),
    sequence: Type.Integer({ description: 'The number of the event in its project.' }),
    status: Type.Enum([...DELIVERY_STATUSES], {
      description:
        '`failed`: given up after a day. `dropped`: not sent, since the channel had as many waiting as it may have.',
    }),
    attempts: Type.Integer(),
    next_try_at: orNull(time()),
    last_try_at: orNull(time()),
    answer_status: orNull(Type.Integer({ description: 'Of the last attempt; null where no answer came.' })),
    answer: orNull(Type.String({ description: 'How the last answer began.' })),
    error: orNull(Type.String({ description: 'Why the last attempt failed.' })),
    payload: Type.String({ description: 'The JSON that is posted, as it is signed.' }),
    created_at: time(),
  },
  { title: 'NotificationDelivery' },
)
export type Delivery = Static<typeof Delivery>

export const DeliveryQuery = Type.Object({
  status: Type.Optional(Type.Enum([...DELIVERY_STATUSES])),
  limit: Type.Optional(Type.String({ description: `How many at most, 1 to ${LIMIT_MAX}. Without it, all of them.` })),
  after: Type.Optional(Type.String({ description: 'The next page: those older than the one of this id.' })),
})

export const limitOf = ({ limit }: Static<typeof DeliveryQuery>): number | undefined =>
  limit === undefined ? undefined : wholeNumber('limit', limit, { minimum: 1, maximum: LIMIT_MAX })

/** 1 s, 2 s, 4 s … and at most ten minutes, with up to a quarter more: receivers are not met by all at once. */
export function pauseAfter(failures: number, chance: number): number {
  const pause = Math.min(PAUSE_FIRST_MS * 2 ** Math.min(failures - 1, 20), PAUSE_MAX_MS)
  return Math.round(pause * (1 + JITTER * chance))
}

/** Deliveries by subject, each subject's in their order: the order that is kept. */
export function bySubject<One extends { subject: string }>(deliveries: readonly One[]): One[][] {
  const subjects = new Map<string, One[]>()
  for (const one of deliveries) {
    const known = subjects.get(one.subject)
    if (known) known.push(one)
    else subjects.set(one.subject, [one])
  }
  return [...subjects.values()]
}
