// What became of one attempt at a target, as one of a few words that can be a label.

/** An attempt as far as it is counted. */
export interface Attempted {
  status?: number | undefined
  failure?: string | undefined
}

export const ATTEMPT_RESULTS = [
  ...['answered', 'refused', 'rate_limited', 'credential_refused', 'not_found', 'redirect', 'status_408', 'status_5xx'],
  ...['connect', 'first_byte_timeout', 'idle_timeout', 'total_timeout', 'reset', 'too_large', 'too_many_parts'],
  ...['refused_address', 'not_taken', 'client_left', 'deadline_exceeded', 'other'],
] as const

const AT = new Map<string, number>(ATTEMPT_RESULTS.map((result, at) => [result, at]))
const [ANSWERED, REFUSED, OTHER] = ['answered', 'refused', 'other'].map((name) => AT.get(name) as number) as [
  number,
  number,
  number,
]

/** In the words of the verdict on it (answers/upstream-verdict.ts). */
const WORDS = new Map<string, string>([
  ['rate limited', 'rate_limited'],
  ['credential refused', 'credential_refused'],
  ['not found there', 'not_found'],
  ['a redirect, which is never followed', 'redirect'],
  ['status 408', 'status_408'],
])

/** Its place among the results. */
export function resultOf({ status = 200, failure }: Attempted): number {
  if (failure === undefined) return status >= 400 ? REFUSED : ANSWERED
  const word = failure.startsWith('status 5') ? 'status_5xx' : (WORDS.get(failure) ?? failure)
  return AT.get(word) ?? OTHER
}
