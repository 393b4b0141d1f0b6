// §11: which requests may be retried safely, what their triple is, and what is kept of their answer.
import { hash } from 'node:crypto'
import { HOUR_MS, SECOND_MS } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'

export const KEY_HEADER = 'agent-idempotency-key'
export const REPLAY_HEADER = 'agent-idempotent-replay'

export const RETENTION_MS = 24 * HOUR_MS // §11.7
export const RESERVATION_MS = 60 * SECOND_MS // §11.8
export const RENEWAL_MS = 15 * SECOND_MS // four chances before a live owner would be taken for dead

const KEY_FORM = /^[\x21-\x7e]{1,255}$/ // R25

/** R25: the header's value where it was sent once and well formed. Absent: the request is simply not keyed. */
export function idempotencyKey(values: readonly string[]): string | undefined {
  const [key] = values
  if (key === undefined) return undefined
  if (values.length > 1 || !KEY_FORM.test(key))
    throw new Refusal(
      'invalid_request',
      "'Agent-Idempotency-Key' must be one value of 1 to 255 visible ASCII characters.",
    )
  return key
}

/** §11.2, R23: the same key on another path, or in another project, is another key. */
export interface Triple {
  project_id: string
  /** The matched route and its decoded parameters: no query, no percent-encoding, no absolute form. */
  route: string
  params: Readonly<Record<string, string>>
  key: string
}

/** How keys of items of replay runs begin (0293), which their calls carry. */
export const ITEM_KEYS = 'replay/'

/** A client's key of that form is another one: nobody asks, or is answered, in the place of a run. */
export const clientsKey = (key: string) => (key.startsWith(ITEM_KEYS) ? ` ${key}` : key)

/** What the store knows a triple by. JSON keeps the parts apart, whatever characters they hold. */
export function digest({ project_id, route, params, key }: Triple): string {
  return hash('sha256', JSON.stringify([project_id, route, Object.values(params), key]), 'base64url')
}

/** Whoever takes the rows of several triples takes them in this order: so no two transactions wait for each other. */
export const byDigest = (a: Pick<KeyedRequest, 'digest'>, b: Pick<KeyedRequest, 'digest'>) =>
  a.digest < b.digest ? -1 : 1

/** A triple in use by one request: enough to find its row, and to open what is sealed there. */
export interface KeyedRequest {
  digest: string
  /** Whose it counts as (R78). */
  project_id: string
  key: string
  /** With which key it was asked, where it was one. */
  key_id?: string | undefined
  /** Of a generation: for which model it is, and with which key. */
  asked?: Asked
}

export interface Asked {
  key_id: string
  model: string
  is_alias: boolean
}

/** §11.4: what a replay repeats. */
export interface KeptResponse {
  status: number
  headers: Readonly<Record<string, string>>
  body: Buffer
  /** Not repeated: whom it may be repeated to is decided by it. */
  asked?: Asked | undefined
  /** Not repeated: the response that it promises, which is made later. */
  promised?: string | undefined
}

export const mayKeep = (status: number) => status >= 200 && status < 300 // §11.6

const NEWLINE = 0x0a

/** One line of JSON, then the body as it was sent: apart, since a body may have megabytes. */
export function encodeResponse({ status, headers, body, asked }: KeptResponse): [line: Buffer, body: Buffer] {
  return [Buffer.from(`${JSON.stringify({ status, headers, asked })}\n`), body]
}

export function decodeResponse(bytes: Buffer): KeptResponse {
  const end = bytes.indexOf(NEWLINE)
  const { status, headers, asked } = JSON.parse(bytes.toString('utf8', 0, end))
  return { status, headers, body: bytes.subarray(end + 1), ...(asked && { asked }) }
}

/** What a kept answer is of: a generation, by its trace, or one that is promised, by the id of its response. */
export const subjectOf = ({ headers, promised }: KeptResponse): string | null =>
  headers['agent-trace-id'] ?? promised ?? null

/** A purge job erased it. Executing anew could charge twice, so it is neither executed nor answered. */
export const erased = () =>
  new Refusal(
    'gone',
    'The answer that was kept for this Agent-Idempotency-Key has been erased. The request was executed once and is ' +
      'not executed again; use another key to repeat it.',
    { headers: { 'x-should-retry': 'false' } },
  )

export function conflict(): Refusal {
  const message = 'A request with this Agent-Idempotency-Key is already in progress. Retry after it completes.'
  return new Refusal('idempotency_conflict', message)
}
