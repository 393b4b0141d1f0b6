// F11 and F18 in full: floods of wrong passwords, and whether time tells who has an account.
import { Agent, request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { NOBODYS_HASH, type PasswordHashing } from '../../src/accounts/password.ts'
import { rfc3339 } from '../../src/core/clock.ts'
import { newId } from '../../src/core/ids.ts'
import { parseCidr } from '../../src/core/ip-address.ts'
import { argon2 } from '../../src/start/argon2.ts'
import { sql } from '../../src/storage/db.ts'
import { browserOn, newAddress, PASSWORD, settle, watched, withoutEdge } from '../support/browser.ts'
import { lightArgon2 } from '../support/light-argon2.ts'
import { planted } from '../support/planted.ts'
import { startService, type TestService } from '../support/service.ts'
import { sized } from '../support/sizes.ts'

const WRONG = 'not the password at all'
const LOOPBACK = [parseCidr('127.0.0.0/8')].flatMap((one) => one ?? [])

const FLOOD = Number(process.env.FLOOD_REQUESTS ?? sized(10_000))

describe('F11 a flood of requests', () => {
  const FLOODS: [string, (n: number) => { address: string; headers: Record<string, string> }][] = [
    [
      'with forged X-Forwarded-For values',
      (n) => ({
        address: '203.0.113.9',
        headers: { 'x-forwarded-for': `198.51.${n >> 8}.${n & 255}, 10.0.0.${n % 200}` },
      }),
    ],
    [
      'from addresses of one /64',
      (n) => ({ address: `2001:db8:1:2:${((n * 7) & 0xffff).toString(16)}:${n.toString(16)}:0:1`, headers: {} }),
    ],
  ]

  test.each(FLOODS)('F11 thousands of wrong passwords %s: exactly 5 are looked at', async (_how, flood) => {
    const { hashing, options } = watched()
    const service = await startService(options)
    const statuses = new Map<number, number>()
    for (let start = 0; start < FLOOD; start += 200) {
      const wave = Array.from({ length: 200 }, async (_, n) => {
        const { address, headers } = flood(start + n)
        const body = { email: `person${n % 7}@example.com`, password: WRONG }
        const { statusCode } = await service.app.inject({
          method: 'POST',
          url: '/auth/login',
          remoteAddress: address,
          headers,
          payload: body,
        })
        statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1)
      })
      await Promise.all(wave)
    }
    expect(hashing.count.verified).toBe(5)
    expect([...statuses].sort()).toEqual([
      [401, 5],
      [429, FLOOD - 5],
    ])
  })
})

describe('F18 whether time tells who has an account', () => {
  // After so many pairs, a difference of at most so much is none. By chance alone the area is 0.5 ± 0.020, ± 0.014 and
  // ± 0.010: whoever is told apart at each of these looks was told apart by time.
  const LOOKS = [
    { pairs: 100, within: -1 }, // only to see the obvious
    { pairs: 400, within: 0.03 },
    { pairs: 800, within: 0.04 },
    { pairs: 1_600, within: 0.05 },
  ]
  const OBVIOUS = 0.2 // no chance in the world
  const light = lightArgon2(1_024) // whatever else differs is not drowned in the time that a hash takes

  /** Some people who confirmed their address; making each by hand would take the time of as many hashes. */
  async function people(service: TestService, hashing: PasswordHashing, count: number): Promise<string[]> {
    const hash = await hashing.hash(PASSWORD)
    const at = rfc3339(service.clock.now())
    const emails = Array.from({ length: count }, (_, n) => `known${String(n).padStart(6, '0')}@example.com`)
    await service.db.transaction(async (tx) => {
      for (const email of emails)
        await tx.rows(sql`
          INSERT INTO person (id, email, verified_at, created_at, password_hash)
          VALUES (${newId('usr')}, ${email}, ${at}, ${at}, ${hash})`)
    })
    return emails
  }

  /** Over one real connection, each request from an address of its own, as a proxy would tell it. */
  function clientOf(port: number) {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    return (path: string, body: object): Promise<{ ms: number; seen: string }> =>
      new Promise((resolve, reject) => {
        const began = performance.now()
        const headers = { 'content-type': 'application/json', 'x-forwarded-for': newAddress() }
        const asked = request({ port, path, method: 'POST', agent, headers }, (reply) => {
          let text = ''
          reply.on('data', (chunk) => {
            text += chunk
          })
          reply.on('end', () => {
            const { date: _date, 'x-request-id': _id, ...told } = reply.headers
            // What a cookie holds is random for everybody; that it is set, and how, must be the same.
            told['set-cookie'] = told['set-cookie']?.map((cookie) => cookie.replace(/=[\w-]+/, '=random'))
            resolve({ ms: performance.now() - began, seen: JSON.stringify([reply.statusCode, told, text]) })
          })
        })
        asked.on('error', reject)
        asked.end(JSON.stringify(body))
      })
  }

  /** Pairs of requests about somebody known and about nobody, in random order: how well time tells them apart. */
  async function judge(hashing: PasswordHashing, path: string, more: object) {
    const service = await start(hashing)
    const { port } = await service.listen()
    const send = clientOf(port)
    const known = await people(service, hashing, Math.max(...LOOKS.map(({ pairs }) => pairs)))
    const [ours, nobodys]: [number[], number[]] = [[], []]
    const answers = new Set<string>()
    let told_apart = true
    for (const [n, email] of known.entries()) {
      const asks = [
        { email, times: ours },
        { email: email.replace('known', 'other'), times: nobodys },
      ]
      if (Math.random() < 0.5) asks.reverse()
      for (const ask of asks) {
        const { ms, seen } = await send(path, { email: ask.email, ...more })
        ask.times.push(ms)
        answers.add(seen.replaceAll(ask.email, 'X'))
      }
      if (n % 50 === 49) await settle(service)
      const look = LOOKS.find(({ pairs }) => pairs === ours.length)
      if (!look) continue
      const distance = Math.abs(areaUnderCurve(ours, nobodys) - 0.5)
      told_apart = distance > look.within
      if (!told_apart || distance > OBVIOUS) break
    }
    const auc = areaUnderCurve(ours, nobodys)
    const counted = `${ours.length} pairs, AUC ${auc.toFixed(3)}, medians ${medians(ours, nobodys)}`
    process.stdout.write(`F18 ${path}: ${counted}\n`)
    return { answers: [...answers], auc, told_apart }
  }

  const start = (passwordHashing: PasswordHashing) => {
    const settings = { ...withoutEdge(), trusted_proxies: LOOPBACK }
    return startService(watched({ parts: { settings, passwordHashing } }).options)
  }

  test.each([
    ['/auth/login', { password: WRONG }],
    ['/auth/password-reset', {}],
    ['/auth/signup', { password: WRONG }],
  ])('F18 %s: one answer, and an area under the curve of 0.45 to 0.55', async (path, more) => {
    const { answers, auc, told_apart } = await judge(light, path, more)
    expect(answers).toHaveLength(1)
    expect([auc, told_apart]).toEqual([auc, false])
    expect(auc).toBeGreaterThan(0.45)
    expect(auc).toBeLessThan(0.55)
  })

  planted('F18 planted: a server that hashes for known addresses only is told apart by time', async () => {
    const lazy = {
      hash: argon2.hash,
      verify: async (hash: string, password: string) => hash !== NOBODYS_HASH && argon2.verify(hash, password),
    }
    const { answers, auc, told_apart } = await judge(lazy, '/auth/login', { password: WRONG })
    expect(answers).toHaveLength(1)
    expect(told_apart).toBe(true)
    expect(auc).toBeGreaterThan(0.95)
  })

  test('F11 a service behind a trusted proxy counts whom the proxy names', async () => {
    const { options, hashing } = watched({ parts: { settings: { ...withoutEdge(), trusted_proxies: LOOPBACK } } })
    const at = browserOn(await startService(options), '127.0.0.1')
    for (let n = 0; n < 12; n++)
      await at.post(
        '/auth/login',
        { email: 'a@example.com', password: WRONG },
        { 'x-forwarded-for': `192.0.2.${n % 2}` },
      )
    expect(hashing.count.verified).toBe(10)
  })
})

/** The chance that a request about somebody known took longer than one about nobody: Mann and Whitney's U, scaled. */
function areaUnderCurve(ours: readonly number[], nobodys: readonly number[]): number {
  const sorted = [...nobodys].sort((a, b) => a - b)
  const below = (value: number, orEqual: boolean) => {
    let [low, high] = [0, sorted.length]
    while (low < high) {
      const middle = (low + high) >> 1
      const at = sorted[middle] as number
      if (orEqual ? at <= value : at < value) low = middle + 1
      else high = middle
    }
    return low
  }
  const wins = ours.reduce((sum, value) => sum + (below(value, false) + below(value, true)) / 2, 0)
  return wins / (ours.length * nobodys.length)
}

function medians(...samples: readonly number[][]): string {
  return samples
    .map((times) => `${([...times].sort((a, b) => a - b)[times.length >> 1] as number).toFixed(2)} ms`)
    .join(' and ')
}
