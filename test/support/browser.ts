// People with browsers: each at an address of its own, keeping its cookie and saying where a request comes from, as
// browsers do. And the mails they get.

import type { Mail } from '../../src/mail/outbox-store.ts'
import { type GatewaySettings, noGateway } from '../../src/start/gateway-settings.ts'
import { lightArgon2 } from './light-argon2.ts'
import { type Answer, conformanceOf, type Options, type TestService } from './service.ts'

export const PASSWORD = 'correct horse battery'

let addresses = 0

/** An address that nobody else in the run has. */
export function newAddress(): string {
  const n = ++addresses
  return `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`
}

export type Browser = ReturnType<typeof browserOn>

export function browserOn(service: Pick<TestService, 'app' | 'routes'>, address = newAddress()) {
  const conforms = conformanceOf(service.app, service.routes)
  /** `cookie` is the session's; `others` are sent along with it. */
  const jar: { cookie: string | undefined; others: Map<string, string> } = { cookie: undefined, others: new Map() }
  const cookies = () => [jar.cookie, ...jar.others.values()].filter((one) => one !== undefined)

  async function send(method: string, url: string, body?: unknown, headers: Record<string, string> = {}) {
    const reply = await service.app.inject({
      method: method as 'GET',
      url,
      remoteAddress: address,
      headers: {
        'sec-fetch-site': 'same-origin',
        ...(cookies().length > 0 && { cookie: cookies().join('; ') }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { payload: JSON.stringify(body) }),
    })
    for (const set of [reply.headers['set-cookie'] ?? []].flat()) keep(jar, set)
    const answer: Answer = {
      status: reply.statusCode,
      headers: reply.headers as Record<string, string>,
      body: reply.payload === '' ? undefined : JSON.parse(reply.payload),
      bytes: reply.rawPayload,
    }
    const wrong = conforms(method, url, answer)
    if (wrong.length > 0) throw new Error(`${method} ${url} answered ${answer.status}: ${wrong.join('; ')}`)
    return answer
  }

  return {
    address,
    jar,
    send,
    get: (url: string, headers?: Record<string, string>) => send('GET', url, undefined, headers),
    post: (url: string, body?: unknown, headers?: Record<string, string>) => send('POST', url, body, headers),
    del: (url: string, headers?: Record<string, string>) => send('DELETE', url, undefined, headers),
  }
}

function keep(jar: { cookie: string | undefined; others: Map<string, string> }, set: string): void {
  const [pair = ''] = set.split(';')
  const [name = ''] = pair.split('=')
  if (/(sign-up|issuer)$/.test(name)) jar.others.set(name, pair)
  else jar.cookie = set.includes('Max-Age=0') ? undefined : pair
}

const argon2 = lightArgon2()

/** Hashing, counted: how many passwords were looked at. */
export function countedHashing() {
  const count = { hashed: 0, verified: 0 }
  return {
    count,
    hash(password: string) {
      count.hashed++
      return argon2.hash(password)
    },
    verify(known: string, password: string) {
      count.verified++
      return argon2.verify(known, password)
    },
  }
}

/** The edge refuses floods before they get anywhere; what stands behind it must hold without it. */
export function withoutEdge(): GatewaySettings {
  const { limits, ...settings } = noGateway()
  return { ...settings, limits: { ...limits, edge: { ...limits.edge, auth_per_minute: 1_000_000_000 } } }
}

/** Options for a service whose mails and passwords can be watched. */
export function watched(options: Options = {}) {
  const mails: Mail[] = []
  const hashing = countedHashing()
  const deliverMail = async (mail: Mail) => void mails.push(mail)
  const parts = { deliverMail, passwordHashing: hashing, settings: withoutEdge(), ...options.parts }
  return { mails, hashing, options: { ...options, parts } satisfies Options }
}

export const tokenIn = (mail: Mail | undefined) => /#token=(\w+)/.exec(mail?.link ?? '')?.[1] ?? ''

/** What the housekeeping does within a second or two: look into requests, send mails. */
export async function settle(service: Pick<TestService, 'housekeep'>): Promise<void> {
  await service.housekeep('look into sign-ups and resets')
  await service.housekeep('send mails')
}

let people = 0

/** All of the same length: what an answer echoes must not tell two of them apart. */
export const newEmail = () => `person${String(++people).padStart(6, '0')}@example.com`

/** Somebody who signed up and, unless told otherwise, confirmed their address and logged in. */
export async function newPerson(service: TestService, mails: Mail[], { verified = true, email = newEmail() } = {}) {
  const browser = browserOn(service)
  await browser.post('/auth/signup', { email, password: PASSWORD, project_name: `of ${email}` })
  await settle(service)
  const token = tokenIn(mails.findLast((mail) => mail.to === email))
  if (verified) await browser.post('/auth/verify-email', { token })
  const { status, body } = await browser.post('/auth/login', { email, password: PASSWORD })
  if (status !== 200) throw new Error(`${email} could not log in: ${status}`)
  return { ...browser, email, token, person_id: body.person.id as string, project_id: body.project.id as string }
}
