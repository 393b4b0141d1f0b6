// From a target to a provider: whose credential goes along, which addresses are judged, and how long a dial may take.
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { heldClock } from '../../test/support/clock.ts'
import { startUpstream } from '../../test/support/upstream.ts'
import { gate } from '../../test/support/wire.ts'
import type { AddressPolicy } from '../providers/address-policy.ts'
import type { ProviderCall } from '../providers/provider.ts'
import { dialer } from './dialer.ts'
import type { Dialling, Target } from './target.ts'

const CALL: ProviderCall = {
  kind: 'chat',
  body: Buffer.from('{"model":"m","messages":[]}'),
  stream: false,
  headers: {},
  timeouts: { first_byte_ms: 5_000, idle_ms: 5_000 },
}
const PRIVATE: AddressPolicy = { allow_private: true, allow_cidrs: [] }
const PUBLIC: AddressPolicy = { allow_private: false, allow_cidrs: [] }
const NEVER = new AbortController().signal

async function scene(policy = PRIVATE) {
  const upstream = await startUpstream()
  const secrets: string[] = []
  const dials = dialer({
    policy,
    clock: heldClock(),
    secretOf: async (project_id, id) => {
      secrets.push(`${project_id} ${id}`)
      return 'sk-of-the-customer'
    },
  })
  onTestFinished(async () => {
    await dials.close()
    await upstream.close()
  })
  const target = (more: Partial<Dialling> = {}, id = 'provider:one') =>
    ({
      id,
      dialling: {
        protocol: 'openai',
        base_url: upstream.base_url,
        secret: { kind: 'configured', value: 'sk-1' },
        customer_address: false,
        responses_native: false,
        max_concurrency: 5,
        timeouts: { first_byte_ms: 5_000, idle_ms: 5_000, total_ms: 10_000 },
        ...more,
      },
    }) as Target
  const call = async (more?: Partial<Dialling>, id?: string) =>
    (await dials.providerFor(target(more, id), 'prj_1')).call(CALL, NEVER)
  return { upstream, dials, call, secrets }
}

test.each([
  ['the operator’s', { kind: 'configured', value: 'sk-1' }, 'Bearer sk-1'],
  ['the project’s own', { kind: 'credential', id: 'pcr_1' }, 'Bearer sk-of-the-customer'],
  ['none', { kind: 'none' }, undefined],
  ['an empty one is none', { kind: 'configured', value: '' }, undefined],
] as [string, Dialling['secret'], string | undefined][])(
  'T-85 whose credential goes along: %s',
  async (_whose, secret, sent) => {
    const { upstream, call, secrets } = await scene()
    await (await call({ secret })).whole()
    expect(upstream.requests[0]?.headers.authorization).toBe(sent)
    expect(secrets).toEqual(secret.kind === 'credential' ? ['prj_1 pcr_1'] : [])
  },
)

test('R12 an address that a customer gave is judged, the operator’s own is not', async () => {
  const { call, upstream } = await scene(PUBLIC)
  await expect(call({ customer_address: true })).rejects.toMatchObject({ failure: 'refused_address' })
  expect(upstream.requests).toHaveLength(0)
  expect((await call()).status).toBe(200)
})

test('R12 one and the same address is judged for one and not for the other, whoever came first', async () => {
  const { call } = await scene(PUBLIC)
  await (await call()).whole()
  await expect(call({ customer_address: true })).rejects.toMatchObject({ failure: 'refused_address' })
})

test.each([{ kind: 'none' }, { kind: 'configured', value: 'sk-2' }, { kind: 'credential', id: 'pcr_1' }] as const)(
  '§2 connections are kept by target, for all of its calls ($kind)',
  async (secret) => {
    const { call, upstream } = await scene()
    for (let n = 0; n < 3; n++) await (await call({ secret })).whole()
    expect(upstream.opened_sockets()).toBe(1)
  },
)

// Slots are counted by target. If connections were not, whoever has a slot could wait for those of somebody else.
test.each([
  ['a project’s own credential', 'credential:pcr_1', { secret: { kind: 'credential', id: 'pcr_1' } }],
  ['another provider of the operator', 'provider:two', { secret: { kind: 'configured', value: 'sk-2' } }],
] as [string, string, Partial<Dialling>][])(
  '§2 slow calls of %s at the same address hold up no others',
  async (_whose, id, dialling) => {
    const { call, upstream } = await scene()
    const held = gate()
    upstream.next({ wait: held.promise })
    const slow = call({ ...dialling, max_concurrency: 1 }, id)
    await upstream.request(1)
    expect((await call({ max_concurrency: 1 })).status).toBe(200)
    held.resolve()
    expect((await slow).status).toBe(200)
  },
)

test('§2 a dial that takes longer than it may is given up', async () => {
  const held = new Set<Socket>()
  const silent = createServer((socket) => void held.add(socket)) // takes the connection, and never shakes hands
  await new Promise<void>((listening) => silent.listen(0, '127.0.0.1', listening))
  onTestFinished(() => {
    for (const socket of held) socket.destroy()
    silent.close()
  })
  const { call } = await scene()
  const { port } = silent.address() as AddressInfo
  const timeouts = { connect_ms: 50, first_byte_ms: 60_000, idle_ms: 60_000, total_ms: 60_000 }
  const started = performance.now()
  const dialled = call({ base_url: `https://127.0.0.1:${port}/v1`, timeouts })
  await expect(dialled).rejects.toMatchObject({ failure: 'connect' })
  expect(performance.now() - started).toBeLessThan(4_000) // the default would be five seconds
})

test('R52 models are asked for at the endpoint; one that answers with no list is no list of none', async () => {
  const { dials, upstream } = await scene()
  upstream.next({ models: ['a', 'org/b'] })
  expect(await dials.listModels(upstream.base_url)).toEqual(['a', 'org/b'])
  upstream.next({ status: 500, body: '' })
  await expect(dials.listModels(upstream.base_url)).rejects.toThrow('500')
})

test('R52 of what a cluster lists, as much is taken as a heartbeat may tell: 1,000 names, 64 KiB', async () => {
  const { dials, upstream } = await scene()
  const names = (length: number) => Array.from({ length: 1_500 }, (_, at) => `m${at}`.padEnd(length, 'x'))
  upstream.next({ models: names(20) })
  expect(await dials.listModels(upstream.base_url)).toEqual(names(20).slice(0, 1_000))
  upstream.next({ models: names(250) })
  const long = await dials.listModels(upstream.base_url)
  expect([long, long.length]).toEqual([names(250).slice(0, long.length), Math.floor(65_536 / 250)])
  upstream.next({ models: ['a', 'no\0name', 'b'] })
  expect(await dials.listModels(upstream.base_url)).toEqual(['a', 'b'])
})

test.each([
  [200, 'active'],
  [401, 'refused'],
  [403, 'refused'],
  [404, 'active'], // it has no list of models, and did not mind the credential
])('§1 a credential that its provider answers with %i is %s', async (status, verdict) => {
  const { dials, upstream } = await scene()
  upstream.behave(status === 200 ? {} : { status, body: '{}' })
  expect(await dials.verifyCredential(atAddress(upstream.base_url), 'sk-mine')).toBe(verdict)
  expect(upstream.requests[0]?.headers.authorization).toBe('Bearer sk-mine')
})

test.each([429, 500, 503])('R73 a provider that answers with %i has not verified anything', async (status) => {
  const { dials, upstream } = await scene()
  upstream.behave({ status, body: '{}' })
  const verified = dials.verifyCredential(atAddress(upstream.base_url), 'sk-mine')
  await expect(verified).rejects.toMatchObject({ kind: 'upstream_failed' })
})

const atAddress = (base_url: string) => ({ base_url, protocol: 'openai' as const, customer_address: true })
