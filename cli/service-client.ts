// Speaks to the service as §8.1 asks of a client: waits as told, backs off with jitter, and sends a POST again only
// under the same idempotency key (§11).
import { randomInt, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Envelope } from '../src/core/refusal.ts'
import { EXIT, Failure, reasonOf } from './failure.ts'
import { visible } from './table.ts'

const TRIES_MAX = 3
const TRY_MS = 15_000
const LONG_MS = 10 * 60_000
const BACKOFF_MS = 250
const RETRY_AFTER_MAX_S = 60 // longer than anybody watches a command
const AGAIN = [429, 502, 503, 504] // and 409, where our own first try is what is still running

export interface Answer<Body> {
  body: Body
  /** The same, byte for byte as the service sent it. */
  text: string
}

export type Client = ReturnType<typeof clientFrom>

/** `pause` is there for tests, which need not wait. */
export function clientFrom(env: NodeJS.ProcessEnv, pause: (ms: number) => Promise<unknown> = sleep) {
  const target = targetFrom(env)

  async function call<Body>(method: string, path: string, payload?: string | FormData, within_ms = TRY_MS) {
    const text = await textOf({ method, path, payload, within_ms, accept: undefined, idempotency_key: randomUUID() })
    return { body: bodyOf<Body>(text, target), text } satisfies Answer<Body>
  }

  async function textOf(request: Request): Promise<string> {
    let brokeOff = false
    for (let tries = 1; ; tries++) {
      const outcome = await attempt(target, request)
      if (outcome.kind === 'answered') return outcome.text
      const { failure, wait_s } = outcome
      if (brokeOff && outcome.status === 404 && request.method === 'DELETE')
        throw new Failure(failure.exit_code, `${failure.message} An earlier try broke off, and may have done it.`)
      if (wait_s === undefined || wait_s > RETRY_AFTER_MAX_S || tries === TRIES_MAX) throw failure
      brokeOff ||= outcome.status === undefined
      const backoff_ms = BACKOFF_MS * 2 ** (tries - 1)
      await pause(Math.max(backoff_ms, wait_s * 1_000) + randomInt(backoff_ms))
    }
  }

  return {
    get: <Body>(path: string) => call<Body>('GET', path),
    /** In another form than JSON. */
    getText: (path: string, accept: string) =>
      textOf({ method: 'GET', path, payload: undefined, within_ms: TRY_MS, accept, idempotency_key: randomUUID() }),
    delete: <Body>(path: string) => call<Body>('DELETE', path),
    post: <Body>(path: string, body: unknown) => call<Body>('POST', path, JSON.stringify(body)),
    patch: <Body>(path: string, body: unknown) => call<Body>('PATCH', path, JSON.stringify(body)),
    postForm: <Body>(path: string, form: FormData) => call<Body>('POST', path, form, LONG_MS),
    /** For what takes the service long: several calls of its own, a plan for a thousand items. */
    postLong: <Body>(path: string, body: unknown) => call<Body>('POST', path, JSON.stringify(body), LONG_MS),
    /** For a body that is sent exactly as somebody wrote it. */
    postText: <Body>(path: string, payload: string) => call<Body>('POST', path, payload),
  }
}

const NO_KEY =
  'SWITCHYARD_KEY must be set to an API key: the one that the first start printed, or one that ' +
  '`switchyard project create` or `switchyard key create --project` makes.'

interface Target {
  base: string
  key: string
}

function targetFrom(env: NodeJS.ProcessEnv): Target {
  const base = (env.SWITCHYARD_URL || 'http://127.0.0.1:8080').replace(/\/+$/, '')
  const url = URL.canParse(base) ? new URL(base) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash)
    throw new Failure(EXIT.usage, 'SWITCHYARD_URL must be an http or https address without credentials or query.')
  if (/\/(v1|v2|anthropic)$/.test(url.pathname))
    throw new Failure(EXIT.usage, `SWITCHYARD_URL must be the address of the service alone, without ${url.pathname}.`)
  const key = env.SWITCHYARD_KEY ?? ''
  if (!/^[\x21-\x7e]+$/.test(key)) throw new Failure(EXIT.usage, NO_KEY)
  return { base, key }
}

interface Request {
  method: string
  path: string
  /** A form says itself what it is. */
  payload: string | FormData | undefined
  /** How long nothing may come: a long list takes its time, and each part of it is a sign of life. */
  within_ms: number
  accept: string | undefined
  idempotency_key: string
}

type Outcome =
  | { kind: 'answered'; text: string }
  /** `wait_s` is there where trying again may help; `status` is not where no answer came. */
  | { kind: 'failed'; failure: Failure; status?: number; wait_s?: number }

async function attempt({ base, key }: Target, request: Request): Promise<Outcome> {
  const { method, path, payload, within_ms, accept, idempotency_key } = request
  const silence = silenceOf(within_ms)
  try {
    const response = await fetch(base + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(accept !== undefined && { accept }),
        ...(typeof payload === 'string' && { 'content-type': 'application/json' }),
        ...(method === 'POST' && { 'agent-idempotency-key': idempotency_key }),
      },
      ...(payload !== undefined && { body: payload }),
      redirect: 'manual', // a key is for the service it was given for
      signal: silence.signal,
    })
    const text = await textIn(response, silence.heard)
    return response.ok ? { kind: 'answered', text } : refused(base, response, text)
  } catch (error) {
    const failure = new Failure(EXIT.unreachable, `${base} cannot be reached: ${reasonOf(error)}.`)
    return { kind: 'failed', failure, wait_s: 0 }
  } finally {
    silence.end()
  }
}

/** Its signal says so once nothing was heard for so long. */
function silenceOf(within_ms: number) {
  const controller = new AbortController()
  const over = () => controller.abort(new DOMException('nothing came', 'TimeoutError'))
  let timer = setTimeout(over, within_ms)
  return {
    signal: controller.signal,
    heard(): void {
      clearTimeout(timer)
      timer = setTimeout(over, within_ms)
    },
    end: () => clearTimeout(timer),
  }
}

async function textIn({ body }: Response, onPart: () => void): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  onPart()
  for await (const part of body ?? []) {
    text += decoder.decode(part, { stream: true })
    onPart()
  }
  return text + decoder.decode()
}

function refused(base: string, { status, headers }: Response, text: string): Outcome {
  const error = envelopeOf(text)
  const failure = error
    ? new Failure(status >= 502 ? EXIT.unreachable : EXIT.failed, `${visible(error.message)} (${status} ${error.type})`)
    : new Failure(EXIT.unreachable, `${base} answered ${status}, but not as Switchyard does. Check SWITCHYARD_URL.`)
  const again = AGAIN.includes(status) || error?.type === 'idempotency_conflict'
  const hopeless = error?.type === 'quota_exceeded' || headers.get('x-should-retry') === 'false'
  if (!again || hopeless) return { kind: 'failed', failure, status }
  const retryAfter = headers.get('retry-after') ?? ''
  return { kind: 'failed', failure, status, wait_s: /^\d+$/.test(retryAfter) ? Number(retryAfter) : 0 }
}

function envelopeOf(text: string): Envelope['error'] | undefined {
  try {
    const { error } = JSON.parse(text) as Envelope
    return typeof error?.message === 'string' && typeof error.type === 'string' ? error : undefined
  } catch {
    return undefined
  }
}

function bodyOf<Body>(text: string, { base }: Target): Body {
  try {
    return JSON.parse(text) as Body
  } catch {
    throw new Failure(EXIT.unreachable, `${base} answered, but not with JSON. Check SWITCHYARD_URL.`)
  }
}
