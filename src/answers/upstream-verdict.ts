// What an upstream's answer, or its failure, means for a call: take it, hand it to the client, or try elsewhere (R47);
// and what the client is told where nobody else could answer (R2, R80).
import { Refusal } from '../core/refusal.ts'
import { inBounds } from '../core/told-text.ts'
import { isOfItsSize, UpstreamError, type UpstreamFailure } from '../providers/provider.ts'

export interface Elsewhere {
  kind: 'try_elsewhere'
  failure: string
  counts_against: boolean
  surely_not_executed: boolean
  means: 'failed' | 'credential_refused' | 'not_there' | 'busy'
  /** The upstream's status, where one came. */
  status: number | undefined
  retry_after_s: number | undefined
  cause: unknown
}

export type Verdict =
  | { kind: 'take' }
  /** The client's own mistake: another target would say the same. */
  | { kind: 'hand_on' }
  | Elsewhere

export function verdictOn(status: number, retry_after_s: number | undefined): Verdict {
  if (status >= 200 && status < 300) return { kind: 'take' }
  // For the log. What else the upstream said is told apart from it.
  const answered = {
    kind: 'try_elsewhere',
    status,
    retry_after_s,
    cause: new Error(`upstream: status ${status}`),
  } as const
  const harmless = { counts_against: false, surely_not_executed: true, ...answered }
  if (status === 429) return { means: 'busy', failure: 'rate limited', ...harmless }
  if (status >= 401 && status <= 403) return { means: 'credential_refused', failure: 'credential refused', ...harmless }
  if (status === 404) return { means: 'not_there', failure: 'not found there', ...harmless }
  const harmful = { means: 'failed', counts_against: true, ...answered } as const
  if (status === 408 || status >= 500)
    return { failure: `status ${status}`, surely_not_executed: status === 503, ...harmful }
  if (status >= 300 && status < 400)
    return { failure: 'a redirect, which is never followed', surely_not_executed: true, ...harmful }
  return { kind: 'hand_on' }
}

export function verdictOnFailure(error: unknown): Elsewhere | undefined {
  if (!(error instanceof UpstreamError)) return undefined
  const { failure } = error
  return {
    kind: 'try_elsewhere',
    means: 'failed',
    failure,
    counts_against: failure !== 'refused_address',
    surely_not_executed: failure === 'connect' || failure === 'refused_address',
    status: undefined,
    retry_after_s: undefined,
    cause: error,
  }
}

/** Where there was no answer to read words from. Addresses and system errors are for the log alone. */
const WIRE: Readonly<Record<UpstreamFailure, string>> = {
  connect: 'no connection to it could be made',
  first_byte_timeout: 'no answer came in time',
  idle_timeout: 'its answer stopped coming',
  total_timeout: 'its answer took too long',
  reset: 'its answer broke off or could not be read',
  too_large: 'its answer was too large',
  too_many_parts: 'its answer had too many parts to be read',
  refused_address: 'its address may not be dialled',
  not_taken: 'nobody took its answer',
}

/** So much of what it said stands in the client's message; the trace has all that was kept. */
const WORDS_TOLD_MAX = 500

/** `said` is free of secrets. */
export function refusalOf(verdict: Elsewhere, provider: string, said: string | undefined): Refusal {
  const { means, status, failure, cause, retry_after_s } = verdict
  const words = said === undefined ? '' : `: ${shortened(said)}`
  const upstream = `The upstream '${provider}'`
  if (means === 'busy')
    return new Refusal('rate_limited', `${upstream} is limiting our rate${words}. Nothing was charged.`, {
      by: 'upstream',
      headers: { 'retry-after': String(Math.max(1, retry_after_s ?? 1)) },
    })
  if (means === 'not_there') return new Refusal('model_not_found', `${upstream} does not have this model${words}.`)
  if (means === 'credential_refused')
    return new Refusal(
      'upstream_failed',
      `${upstream} refused the credential that this call was sent with${words}. Nothing was charged.`,
      { cause },
    )
  const how = status === undefined ? (WIRE[failure as UpstreamFailure] ?? failure) : `status ${status}`
  return new Refusal('upstream_failed', `${upstream} failed before it answered: ${how}${words}. Nothing was charged.`, {
    cause,
    headers: { 'retry-after': '1' },
  })
}

/** R47: in the middle of a stream, by the upstream or by a limit of ours. */
export function brokenOff(provider: string, { said, is_charged, cause }: BrokenOff): Refusal {
  const money = is_charged ? 'What had come was charged.' : 'Nothing was charged.'
  if (cause instanceof Refusal) return new Refusal(cause.kind, `${cause.message} ${money}`, { cause })
  const failure = cause instanceof UpstreamError ? cause.failure : undefined
  const why = said ?? (failure && (failure === 'total_timeout' || isOfItsSize(failure)) ? WIRE[failure] : undefined)
  const words = why === undefined ? '' : `: ${shortened(why)}`
  const broke = failure === 'total_timeout' ? 'was cut off' : 'broke off'
  return new Refusal('upstream_failed', `The upstream '${provider}' ${broke}${words}. ${money}`, { cause })
}

interface BrokenOff {
  said: string | undefined
  is_charged: boolean
  cause: unknown
}

/** Our own full stop follows. */
const shortened = (said: string) =>
  said.length > WORDS_TOLD_MAX ? `${inBounds(said, WORDS_TOLD_MAX)}…` : said.replace(/\.$/, '')
