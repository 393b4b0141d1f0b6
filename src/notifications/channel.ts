// What a notification channel is: where a project's events go, which of them, and what they are signed with.
import { type Static, Type } from 'typebox'
import { DAY_MS, rfc3339 } from '../core/clock.ts'
import { newId, randomNonce } from '../core/ids.ts'
import { Refusal } from '../core/refusal.ts'
import { Label, label, orNull, storable, time } from '../core/shapes.ts'
import { WebAddress, webAddress } from '../core/web-address.ts'
import { EVENT_TYPES } from './happening.ts'

export const CHANNEL_KINDS = ['webhook', 'slack', 'mail'] as const
export type ChannelKind = (typeof CHANNEL_KINDS)[number]

const SECRET_BYTES = 32
/** For so long after a rotation both secrets sign. */
export const OVERLAP_MS = DAY_MS
const ADDRESS_MAX = 254
const EVENT_NAMES = Type.Array(Type.Enum([...EVENT_TYPES]), {
  minItems: 1,
  maxItems: EVENT_TYPES.length,
  description: 'Which events it is told of. Left out, or null: all of them, those that are added later too.',
})

export const NewChannel = Type.Object(
  {
    kind: Type.Enum([...CHANNEL_KINDS]),
    name: Label('What people call it.'),
    url: Type.Optional(
      WebAddress('Of a webhook: where events are posted. Of Slack: the address of an incoming webhook, a secret.'),
    ),
    email: Type.Optional(
      Type.String({ maxLength: ADDRESS_MAX, description: 'Of mail: the confirmed address of a member.' }),
    ),
    events: Type.Optional(orNull(EVENT_NAMES)),
  },
  { title: 'NewNotificationChannel' },
)
export type NewChannel = Static<typeof NewChannel>

export const ChannelChange = Type.Object(
  {
    name: Type.Optional(Label('What people call it.')),
    url: Type.Optional(WebAddress('Of a webhook, or of Slack.')),
    events: Type.Optional(orNull(EVENT_NAMES)),
    status: Type.Optional(
      Type.Enum(['active', 'paused'], { description: 'While it is paused, what happens is not written down for it.' }),
    ),
  },
  { title: 'NotificationChannelChange' },
)
export type ChannelChange = Static<typeof ChannelChange>

export const Channel = Type.Object(
  {
    id: Type.String({ description: 'Opaque, begins `nch_`.' }),
    object: Type.Literal('notification_channel'),
    project_id: Type.String(),
    kind: Type.Enum([...CHANNEL_KINDS]),
    name: Type.String(),
    status: Type.Enum(['active', 'paused', 'disabled'], {
      description: '`disabled`: the receiver answered 410, so nothing more is sent until it is made `active`.',
    }),
    events: orNull(Type.Array(Type.String(), { description: 'Null: all.' })),
    target: Type.String({ description: 'Where it goes. Of Slack only the host is shown.' }),
    failures: Type.Integer({ description: 'Attempts that failed in a row.' }),
    next_try_at: orNull(time()),
    previous_secret_until: orNull(time()),
    created_at: time(),
    secret: Type.Optional(
      Type.String({
        description:
          'Of a webhook: begins `whsec_`. Only in the answers that make the channel and that rotate its secret.',
      }),
    ),
  },
  { title: 'NotificationChannel' },
)
export type Channel = Static<typeof Channel>

export const DeletedChannel = Type.Object(
  { id: Type.String(), object: Type.Literal('notification_channel.deleted'), deleted: Type.Literal(true) },
  { title: 'DeletedNotificationChannel' },
)

/** A channel as it is made: with what is sealed. */
export interface MadeChannel {
  channel: Channel
  /** An address to dial, or of a mailbox. */
  target: string
  secret: string | undefined
}

export function newChannel(project_id: string, asked: NewChannel, now: number): MadeChannel {
  const { kind } = asked
  const target = targetOf(asked)
  const secret = kind === 'webhook' ? newSecret() : undefined
  const channel: Channel = {
    id: newId('nch'),
    object: 'notification_channel',
    project_id,
    kind,
    name: label('name', asked.name),
    status: 'active',
    events: eventsOf(asked.events),
    target: shownTarget(kind, target),
    failures: 0,
    next_try_at: null,
    previous_secret_until: null,
    created_at: rfc3339(now),
    ...(secret !== undefined && { secret }),
  }
  return { channel, target, secret }
}

function targetOf({ kind, url, email }: NewChannel): string {
  if (kind === 'mail') {
    if (url !== undefined) throw wrong('url', 'be left out where `kind` is `mail`')
    if (email === undefined) throw wrong('email', 'be the address of a member')
    return mailbox(email)
  }
  if (email !== undefined) throw wrong('email', `be left out where \`kind\` is \`${kind}\``)
  if (url === undefined) throw wrong('url', 'be an absolute http or https address')
  return channelAddress(kind, url)
}

/** R12: the form; whether it may be dialled is decided at every dial. */
export function channelAddress(kind: ChannelKind, url: string): string {
  const address = webAddress('url', url)
  if (kind === 'slack' && !address.toLowerCase().startsWith('https:')) throw wrong('url', 'be an https address')
  return address
}

const mailbox = (email: string) => {
  const address = storable('email', email).trim().toLowerCase()
  if (!/^[^\s@<>,]+@[^\s@<>,]+$/.test(address)) throw wrong('email', 'be an e-mail address')
  return address
}

/** An incoming webhook of Slack is a secret as a whole; a query may hold one. */
export function shownTarget(kind: ChannelKind, target: string): string {
  if (kind === 'mail') return target
  const { origin, pathname, search } = new URL(target)
  if (kind === 'slack') return `${origin}/…`
  return `${origin}${pathname}${search === '' ? '' : '?…'}`
}

/** Each once, in the order of the list; null for all. */
export const eventsOf = (asked: readonly string[] | null | undefined): string[] | null =>
  asked ? EVENT_TYPES.filter((type) => asked.includes(type)) : null

/** Standard Webhooks: `whsec_` and base64 of 24 to 64 bytes. */
export const newSecret = () => `whsec_${randomNonce(SECRET_BYTES).toString('base64')}`

export const noMember = (email: string) => wrong('email', `be the confirmed address of a member; '${email}' is none`)

export const wrong = (field: string, must: string) => new Refusal('invalid_request', `'${field}' must ${must}.`)
