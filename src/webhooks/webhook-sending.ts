// One attempt at a delivery: a signed POST (Standard Webhooks), or a message to Slack. The address goes through the
// guard of customers' addresses at every dial (R12), and a redirect is an answer like any other.
import { Webhook } from 'standardwebhooks'
import { SECOND_MS } from '../core/clock.ts'
import type { StopSignal } from '../core/stop-signal.ts'
import { ANSWER_MAX } from '../notifications/notification-delivery.ts'
import type { Turn, Waiting } from '../notifications/queue-store.ts'
import { type AddressPolicy, assertDialable, guardedLookup } from '../providers/address-policy.ts'
import { soonRead } from '../providers/first-bytes.ts'
import { type ProxySettings, proxyFor } from '../providers/outbound-proxy.ts'
import { UpstreamError } from '../providers/provider.ts'
import { openUpstream } from '../providers/upstream.ts'

const CONNECT_MS = 5 * SECOND_MS
const TIMEOUTS = { first_byte_ms: 10 * SECOND_MS, idle_ms: 5 * SECOND_MS, total_ms: 15 * SECOND_MS }
const READ_WITHIN_MS = 250
const GONE = 410 // Standard Webhooks: nothing more is wanted there

/** What came of an attempt. */
export interface Attempt {
  outcome: 'taken' | 'failed' | 'gone'
  answer_status: number | null
  answer: string | null
  error: string | null
}

/** To one channel, for as long as a turn lasts. */
export interface Sender {
  attempt(waiting: Waiting, now: number): Promise<Attempt>
  close(): Promise<void>
}

export interface SendingNeeds {
  policy: AddressPolicy
  proxy?: ProxySettings | undefined
  user_agent: string
}

export type OpenSender = (turn: Turn, connections: number, signal: StopSignal) => Sender

/** For webhooks and Slack. Connections are kept for the turn: each new one is dialled by what the name says then. */
export function httpSenders({ policy, proxy, user_agent }: SendingNeeds): OpenSender {
  const lookup = guardedLookup(policy)
  return ({ kind, target, secrets }, connections, signal) => {
    const url = new URL(target)
    const { origin, pathname, search } = url
    const upstream = openUpstream(origin, { connections, connect_ms: CONNECT_MS, lookup, proxy: proxyFor(url, proxy) })
    return {
      async attempt(waiting, now) {
        const { headers, body } = kind === 'slack' ? slackMessage(waiting) : signedMessage(waiting, secrets, now)
        try {
          assertDialable(target, policy)
          const sent = { 'content-type': 'application/json', 'user-agent': user_agent, ...headers }
          const request = { method: 'POST' as const, path: pathname + search, headers: sent, timeouts: TIMEOUTS }
          const answer = await upstream.send({ ...request, body: Buffer.from(body) }, signal)
          const said = await soonRead(ANSWER_MAX, READ_WITHIN_MS, answer)
          return judged(answer.status, said)
        } catch (error) {
          return { outcome: 'failed', answer_status: null, answer: null, error: reasonOf(error) }
        }
      },
      close: upstream.close,
    }
  }
}

/** Every secret that is good signs: receivers take the message if one signature is right. */
export function signedMessage({ event_id, payload }: Waiting, secrets: readonly string[], now: number) {
  const at = new Date(now)
  const headers = {
    'webhook-id': event_id,
    'webhook-timestamp': String(Math.floor(now / SECOND_MS)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(event_id, at, payload)).join(' '),
  }
  return { headers, body: payload }
}

const SLACK_SPECIAL: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

function slackMessage({ payload }: Waiting) {
  const { sentence, type } = JSON.parse(payload) as { sentence: string; type: string }
  const text = `*${type}*: ${sentence}`.replace(/[&<>]/g, (one) => SLACK_SPECIAL[one] ?? one)
  return { headers: {}, body: JSON.stringify({ text }) }
}

function judged(status: number, said: Buffer): Attempt {
  const answer = said.toString('utf8').replaceAll('\0', '').toWellFormed().slice(0, ANSWER_MAX)
  if (status >= 200 && status < 300) return { outcome: 'taken', answer_status: status, answer, error: null }
  const error = status >= 300 && status < 400 ? `It answered ${status}; redirects are not followed.` : null
  return {
    outcome: status === GONE ? 'gone' : 'failed',
    answer_status: status,
    answer,
    error: error ?? `It answered ${status}.`,
  }
}

const REASONS: Partial<Record<UpstreamError['failure'], string>> = {
  connect: 'No connection came about.',
  first_byte_timeout: `It did not answer within ${TIMEOUTS.first_byte_ms / SECOND_MS} seconds.`,
  total_timeout: `It did not answer within ${TIMEOUTS.total_ms / SECOND_MS} seconds.`,
  reset: 'The connection broke before an answer came.',
  refused_address: 'Its address may not be dialled.',
}

/** Addresses that a name leads to stay ours: what a network looks like inside is nobody's business. */
function reasonOf(error: unknown): string {
  if (!(error instanceof UpstreamError)) return 'It could not be sent.'
  return REASONS[error.failure] ?? 'It could not be sent.'
}
