// 0349: identities of workloads, over a real wire, against what holds each request to the rules of its vendor: who asks,
// with what, and until when what was lent is taken.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { heldClock } from '../../../test/support/clock.ts'
import { APPLICATION, type Lender, lender, NOVA, ROLE, SCOPE, TENANT } from '../../../test/support/identity-server.ts'
import { startUpstream } from '../../../test/support/upstream.ts'
import { identityText, type OperatorsIdentity } from '../../credentials/operators-identity.ts'
import { type ProviderAnswer, UpstreamError } from '../provider.ts'
import { openUpstream } from '../upstream.ts'
import { type PlatformOptions, platformProviders } from './platform-provider.ts'

const HOUR_MS = 3_600_000
const timeouts = { first_byte_ms: 20_000, idle_ms: 20_000 }
const chat = Buffer.from(JSON.stringify({ model: NOVA, messages: [{ role: 'user', content: 'Hi' }] }))

async function begin() {
  const clock = heldClock()
  const state: Lender = { now: clock.now, lives_ms: HOUR_MS, cluster_token: 'cluster-token-1', is_away: false }
  const { manner, counts, revoke } = lender(state)
  const upstream = await startUpstream(manner)
  const wire = openUpstream(upstream.origin, { connections: 16 })
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-identity-'))
  const token_file = join(folder, 'token')
  writeFileSync(token_file, `${state.cluster_token}\n`)
  onTestFinished(async () => {
    rmSync(folder, { recursive: true })
    await wire.close()
    await upstream.close()
  })
  const providers = platformProviders({ clock, poolFor: () => wire })
  const { origin } = upstream
  const identities = {
    web_identity: { kind: 'web_identity', role_arn: ROLE, token_file, session_name: 'sy', sts_url: origin },
    container: { kind: 'container', url: `${origin}/v1/credentials/abc`, token_file },
    instance: { kind: 'instance', url: origin },
    entra: { kind: 'entra', tenant_id: TENANT, ...APPLICATION, authority: origin, scope: SCOPE },
    federated: {
      ...{ kind: 'entra', tenant_id: TENANT, client_id: APPLICATION.client_id },
      ...{ token_file, authority: origin, scope: SCOPE },
    },
  } satisfies Record<string, OperatorsIdentity>

  function asked(identity: OperatorsIdentity, more: Partial<PlatformOptions> = {}) {
    const is_azure = identity.kind === 'entra'
    const provider = providers({
      platform: is_azure ? { kind: 'azure' } : { kind: 'bedrock', region: 'us-east-1' },
      upstream: wire,
      base_url: origin,
      secret: identityText(identity),
      is_operators: true,
      model: NOVA,
      spoken: is_azure ? 'chat' : 'converse',
      responses: false,
      ...more,
    })
    const call = { kind: 'chat', body: chat, stream: false, headers: {}, timeouts } as const
    return () => provider.call(call, new AbortController().signal)
  }
  const rotate = (token: string) => {
    state.cluster_token = token
    writeFileSync(token_file, token)
  }
  return { clock, state, counts, upstream, identities, asked, rotate, revoke }
}

const statusOf = async (call: () => Promise<ProviderAnswer>) => {
  const answer = await call()
  await answer.whole()
  return answer.status
}
const KINDS = ['web_identity', 'container', 'instance', 'entra', 'federated'] as const

test.each(KINDS)('0349 %s: lent once for all calls, and taken', async (kind) => {
  const { asked, identities, counts } = await begin()
  const call = asked(identities[kind])
  expect(await Promise.all(Array.from({ length: 8 }, () => statusOf(call)))).toEqual(Array(8).fill(200))
  expect(await statusOf(asked(identities[kind]))).toBe(200) // another model of the same provider
  expect(counts.lent).toBe(1)
})

test.each(KINDS)(
  '0349 %s: renewed before its end by one request, with the token that the cluster has by then',
  async (kind) => {
    const { asked, identities, counts, clock, rotate } = await begin()
    const call = asked(identities[kind])
    await statusOf(call)
    rotate('cluster-token-2')
    clock.advance(HOUR_MS - 4 * 60_000) // within the last five minutes
    expect(await Promise.all(Array.from({ length: 8 }, () => statusOf(call)))).toEqual(Array(8).fill(200))
    await expect.poll(() => counts.lent).toBe(2)
    clock.advance(5 * 60_000) // the first has ended
    expect(await statusOf(call)).toBe(200)
    expect(counts.lent).toBe(2)
  },
)

test.each(KINDS)(
  '0349 %s: where it cannot be renewed, what there is serves until it ends, and no longer',
  async (kind) => {
    const { asked, identities, state, clock, counts } = await begin()
    const call = asked(identities[kind])
    await statusOf(call)
    state.is_away = true
    clock.advance(HOUR_MS - 4 * 60_000)
    expect(await statusOf(call)).toBe(200)
    clock.advance(4 * 60_000 - 1_000) // a second before its end
    expect(await statusOf(call)).toBe(200)
    clock.advance(1_000)
    await expect(call()).rejects.toMatchObject({ failure: 'connect' })
    state.is_away = false
    expect(await statusOf(call)).toBe(200)
    expect(counts.lent).toBe(2)
  },
)

test('0349 who lends is asked every ten seconds at most while what there is still serves', async () => {
  const { asked, identities, state, clock, upstream } = await begin()
  const call = asked(identities.container)
  await statusOf(call)
  state.is_away = true
  clock.advance(HOUR_MS - 4 * 60_000)
  const before = upstream.requests.length
  for (let n = 0; n < 5; n++) await statusOf(call)
  expect(upstream.requests.slice(before).filter(({ path }) => path.startsWith('/v1/credentials'))).toHaveLength(1)
})

test.each([
  ['web_identity', 'STS answers 400: InvalidIdentityToken'],
  ['container', 'the credentials of the container are answered with 401'],
  ['federated', 'Entra ID answers 401: invalid_client, AADSTS7000215'],
] as const)('0349 %s refused: another target is tried, and people read why, without a secret', async (kind, said) => {
  const { asked, identities, state } = await begin()
  state.cluster_token = 'another'
  const error = await asked(identities[kind])().catch((cause) => cause)
  expect(error).toBeInstanceOf(UpstreamError)
  expect([error.failure, error.said(undefined)]).toEqual(['connect', said])
})

test('0349 a file that is not there, or holds no token, is told without its path', async () => {
  const { asked, identities } = await begin()
  const token_file = '/nowhere/at/all/token'
  const error = await asked({ ...identities.web_identity, token_file })().catch((cause) => cause)
  expect(error.said(undefined)).toBe('the file of the token cannot be read: ENOENT')
})

test.each([
  ['more than is read', { body: 'x'.repeat(70_000) }],
  ['no keys', { body: { Expiration: '2030-01-01T00:00:00Z' } }],
  ['keys without an end', { body: { AccessKeyId: 'a', SecretAccessKey: 'b', Token: 'c' } }],
  ['an address elsewhere', { status: 302, headers: { location: 'http://127.0.0.1:1/' }, body: '' }],
])('R77 an answer with %s lends nothing', async (_case, behaviour) => {
  const { asked, identities, upstream } = await begin()
  upstream.next(behaviour)
  await expect(asked(identities.container)()).rejects.toMatchObject({ failure: 'connect' })
  expect(upstream.requests).toHaveLength(1)
})

test.each(KINDS)('0349 %s: refused before its end, it is forgotten, and nothing of it is told on', async (kind) => {
  const { asked, identities, revoke, counts } = await begin()
  const call = asked(identities[kind])
  await statusOf(call)
  revoke()
  const refused = await call()
  const is_azure = identities[kind].kind === 'entra'
  expect([refused.status, String(await refused.whole())]).toEqual([
    is_azure ? 401 : 403,
    expect.not.stringContaining('ASIA1'),
  ])
  expect([await statusOf(call), counts.lent]).toEqual([200, 2])
})

test.each(KINDS)(
  'R79 %s as the secret of a project’s own credential speaks for nobody: who lends is not asked',
  async (kind) => {
    const { asked, identities, counts, upstream } = await begin()
    const call = asked(identities[kind], { is_operators: false })
    expect(await statusOf(call)).toBeGreaterThanOrEqual(401)
    expect([counts.lent, upstream.requests.every(({ path }) => /^\/(model|openai)\//.test(path))]).toEqual([0, true])
  },
)
