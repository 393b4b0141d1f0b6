// What an upstream's answer, or its failure, means for a call: take it, hand it to the client, or try elsewhere (R47).
import { Refusal } from '../core/refusal.ts'
import { UpstreamError } from '../providers/provider.ts'

export type Verdict =
  | { kind: 'take' }
  /** The client's own mistake: another target would say the same. */
  | { kind: 'hand_on' }
  | { kind: 'try_elsewhere'; failure: string; counts_against: boolean; surely_not_executed: boolean; refusal: Refusal }

export function verdictOn(status: number, retry_after_s: number | undefined): Verdict {
  if (status >= 200 && status < 300) return { kind: 'take' }
  if (status === 429) return elsewhere('rate limited', false, true, busy(retry_after_s))
  if (status >= 401 && status <= 403) return elsewhere('credential refused', false, true, credentialRefused(status))
  if (status === 404) return elsewhere('not found there', false, true, modelNotThere())
  if (status === 408 || status >= 500)
    return elsewhere(`status ${status}`, true, status === 503, failed(answered(status)))
  if (status >= 300 && status < 400)
    return elsewhere('a redirect, which is never followed', true, true, failed(answered(status)))
  return { kind: 'hand_on' }
}

export function verdictOnFailure(error: unknown): Verdict | undefined {
  if (!(error instanceof UpstreamError)) return undefined
  const beforeSending = error.failure === 'connect' || error.failure === 'refused_address'
  return elsewhere(error.failure, error.failure !== 'refused_address', beforeSending, failed(error))
}

function elsewhere(failure: string, counts_against: boolean, surely_not_executed: boolean, refusal: Refusal): Verdict {
  return { kind: 'try_elsewhere', failure, counts_against, surely_not_executed, refusal }
}

/** For the log. What else the upstream said may repeat what it was asked, and is not told. */
const answered = (status: number) => new Error(`upstream: status ${status}`)

const failed = (cause: unknown) =>
  new Refusal('upstream_failed', 'The upstream failed before it answered. Nothing was charged.', {
    cause,
    headers: { 'retry-after': '1' },
  })

const credentialRefused = (status: number) =>
  new Refusal(
    'upstream_failed',
    'The upstream refused the credential that this call was sent with. Nothing was charged.',
    { cause: answered(status) },
  )

const modelNotThere = () => new Refusal('model_not_found', 'The upstream does not have this model.')

const busy = (retry_after_s = 1) =>
  new Refusal('rate_limited', 'The upstream is limiting our rate. Nothing was charged.', {
    by: 'upstream',
    headers: { 'retry-after': String(Math.max(1, retry_after_s)) },
  })
