// The one way to the service: JSON in and out, refusals in words (§7), and creations that cannot happen twice (§11).
import type { Envelope } from '../../src/core/refusal.ts'

const ANSWER_WITHIN_MS = 30_000
const LONG_WITHIN_MS = 300_000

/** Which project is asked about: the one in the address of the page, whatever other tabs look at (0356). */
export function aboutProject(): Record<string, string> {
  const [, project_id] = /^\/console\/(prj_\w+)(?:\/|$)/.exec(location.pathname) ?? []
  return project_id === undefined ? {} : { 'switchyard-project': project_id }
}

/** What went wrong, as the service or the network told it. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  /** 0 where no answer came. */
  readonly status: number
  readonly type: string
  /** The field that the message is about, where it names one. */
  readonly field: string | undefined

  constructor(status: number, { message, type }: Pick<Envelope['error'], 'message' | 'type'>) {
    super(message)
    this.status = status
    this.type = type
    this.field = /^'([\w.[\]]+)' /.exec(message)?.[1]
  }
}

interface Asking {
  accept?: string
  body?: unknown
  /** §11: the same for every try at the same thing. */
  idempotency_key?: string
  signal?: AbortSignal | undefined
  within_ms?: number
}

const signedOutListeners = new Set<() => void>()

/** Told when an answer says that nobody is signed in any more. Returns how to stop listening. */
export function onSignedOut(listener: () => void): () => void {
  signedOutListeners.add(listener)
  return () => void signedOutListeners.delete(listener)
}

const secondFactorListeners = new Set<(project_id: string | undefined) => void>()

/** Told which project asks for a second factor that the person does not have (0365). Returns how to stop listening. */
export function onSecondFactorMissing(listener: (project_id: string | undefined) => void): () => void {
  secondFactorListeners.add(listener)
  return () => void secondFactorListeners.delete(listener)
}

export const get = <T>(path: string, signal?: AbortSignal) => ask<T>('GET', path, { signal })

/** An answer that is no JSON, such as a table for spreadsheets. */
export async function getText(path: string, accept: string): Promise<string> {
  const answer = await exchange('GET', path, { accept })
  return answer.text().catch((cause: unknown) => {
    throw brokenOff(cause)
  })
}

/** Whatever it is, as it is. */
export async function getBlob(path: string): Promise<Blob> {
  const answer = await exchange('GET', path, { accept: '*/*' })
  return answer.blob().catch((cause: unknown) => {
    throw brokenOff(cause)
  })
}

export const post = <T>(path: string, body?: unknown, idempotency_key?: string) =>
  ask<T>('POST', path, { body, ...(idempotency_key !== undefined && { idempotency_key }) })

/** For what takes as long as there is much of it. */
export const postLong = <T>(path: string, body: unknown, idempotency_key: string) =>
  ask<T>('POST', path, { body, idempotency_key, within_ms: LONG_WITHIN_MS })

export const patch = <T>(path: string, body: unknown) => ask<T>('PATCH', path, { body })

export const del = <T>(path: string) => ask<T>('DELETE', path, {})

async function ask<T>(method: string, path: string, asking: Asking): Promise<T> {
  const answer = await exchange(method, path, asking)
  return (await answer.json().catch((cause: unknown) => {
    if (asking.signal?.aborted) throw cause
    throw brokenOff(cause)
  })) as T
}

async function exchange(method: string, path: string, asking: Asking): Promise<Response> {
  const { body, idempotency_key, signal, accept = 'application/json', within_ms = ANSWER_WITHIN_MS } = asking
  const bounded = AbortSignal.timeout(within_ms)
  const answer = await fetch(path, {
    method,
    credentials: 'same-origin',
    headers: {
      accept,
      ...aboutProject(),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(idempotency_key !== undefined && { 'agent-idempotency-key': idempotency_key }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: signal ? AbortSignal.any([signal, bounded]) : bounded,
  }).catch((cause: unknown) => {
    if (signal?.aborted) throw cause
    throw unreachable(bounded.aborted)
  })
  if (!answer.ok) throw await refusalOf(answer, path)
  return answer
}

/** The head of an answer came, the rest did not. */
const brokenOff = (cause: unknown) => unreachable(cause instanceof DOMException && cause.name === 'TimeoutError')

export const unreachable = (timed_out: boolean) =>
  new ApiError(0, {
    type: 'unreachable',
    message: timed_out
      ? 'The server did not answer in time. Try again.'
      : 'The server cannot be reached. Check your connection and try again.',
  })

export async function refusalOf(answer: Response, path: string): Promise<ApiError> {
  const told = (await answer.json().catch(() => undefined)) as Partial<Envelope> | undefined
  if (answer.status === 401 && path.startsWith('/v2/')) for (const listener of signedOutListeners) listener()
  if (told?.error?.type === 'second_factor_missing')
    for (const listener of secondFactorListeners) listener(aboutProject()['switchyard-project'])
  const wait_s = answer.headers.get('retry-after')
  const error = told?.error ?? { message: `The server answered ${answer.status}.`, type: 'unknown' }
  // Some messages say it themselves, in seconds.
  const said = error.message.replace(/ Try again in \d+ seconds\.$/, '')
  const message = wait_s === null ? error.message : `${said} Try again in ${inWords(Number(wait_s))}.`
  return new ApiError(answer.status, { type: error.type, message })
}

function inWords(seconds: number): string {
  if (seconds < 90) return `${seconds} s`
  return `${Math.ceil(seconds / 60)} min`
}
