// Every way the API says no (§7, R2). A status or an identifier is written here and nowhere else.
const REFUSALS = {
  invalid_request: { status: 400, type: 'invalid_request_error' },
  invalid_api_key: { status: 401, type: 'invalid_api_key', code: 'invalid_api_key' },
  invalid_credentials: { status: 401, type: 'invalid_credentials', code: 'invalid_credentials' },
  second_factor_required: { status: 401, type: 'second_factor_required', code: 'second_factor_required' },
  second_factor_missing: { status: 403, type: 'second_factor_missing', code: 'second_factor_missing' },
  insufficient_scope: { status: 403, type: 'insufficient_scope', code: 'insufficient_scope' },
  project_suspended: { status: 403, type: 'project_suspended', code: 'project_suspended' },
  not_found: { status: 404, type: 'invalid_request_error' },
  model_not_found: { status: 404, type: 'invalid_request_error', code: 'model_not_found' },
  method_not_allowed: { status: 405, type: 'invalid_request_error' },
  request_timeout: { status: 408, type: 'invalid_request_error' },
  idempotency_conflict: { status: 409, type: 'idempotency_conflict' },
  conflict: { status: 409, type: 'invalid_request_error', code: 'conflict' },
  gone: { status: 410, type: 'invalid_request_error' },
  precondition_failed: { status: 412, type: 'invalid_request_error', code: 'version_conflict' },
  body_too_large: { status: 413, type: 'invalid_request_error' },
  unsupported_media_type: { status: 415, type: 'invalid_request_error' },
  expectation_failed: { status: 417, type: 'invalid_request_error' },
  rate_limited: { status: 429, type: 'rate_limit_error', code: 'rate_limit_exceeded' },
  quota_exceeded: { status: 429, type: 'quota_exceeded', code: 'quota_exceeded' },
  headers_too_large: { status: 431, type: 'invalid_request_error' },
  fault: { status: 500, type: 'server_error' },
  upstream_failed: { status: 502, type: 'server_error', code: 'upstream_error' },
  unavailable: { status: 503, type: 'server_error', code: 'unavailable' },
  deadline_exceeded: { status: 504, type: 'deadline_exceeded', code: 'deadline_exceeded' },
} as const satisfies Record<string, { status: number; type: string; code?: string }>

export type RefusalName = keyof typeof REFUSALS

export interface Envelope {
  error: { message: string; type: string; code?: string }
}

/** Waiting helps here and we know how long; both end up as headers. */
interface Detail {
  cause?: unknown
  headers?: Readonly<Record<string, string>>
  by?: RefusedBy
  about?: About
}

/** Who said no, where the name of the refusal alone does not tell: for counting, never sent. */
export type RefusedBy = 'edge' | 'key' | 'project' | 'capacity' | 'upstream'

/** Whom a generation met on its way to a refusal: for the record and the log, never sent (R80). */
export interface About {
  target?: string
  provider?: string
  /** The upstream's status, where one came. */
  upstream_status?: number | undefined
  /** What the upstream said, in bounds and without secrets. */
  said?: string | undefined
  /** The target belongs to the customer: its failures are not the operator's. */
  is_customers?: boolean
  /** What was tried, as far as no usage event tells of it. */
  attempts?: readonly object[]
  /** A usage event tells of it, so nothing else need. */
  has_event?: boolean
}

export interface InItsWords {
  status: number
  headers: Readonly<Record<string, string>>
  body: Buffer
}

/** A refusal the caller is meant to see. `message` is public; private detail goes in `cause`. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly kind: RefusalName
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Envelope
  readonly by: RefusedBy | undefined
  /** Filled in on its way up, by whoever knows more. */
  about: About | undefined
  /** R81: an upstream's own words, which clients of its protocol get in the place of ours. */
  in_its_words: InItsWords | undefined

  constructor(kind: RefusalName, message: string, { cause, headers = {}, by, about }: Detail = {}) {
    super(message, { cause })
    const { status, ...identity } = REFUSALS[kind]
    this.kind = kind
    this.status = status
    this.headers = headers
    this.by = by
    this.about = about
    this.body = { error: { message, ...identity } }
  }
}

/** The refusal for a status that the framework or Node itself decided on. */
export function refusalNameFor(status: number): RefusalName {
  const names = Object.keys(REFUSALS) as RefusalName[]
  return names.find((name) => REFUSALS[name].status === status) ?? (status < 500 ? 'invalid_request' : 'fault')
}
