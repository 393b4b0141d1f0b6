// BYOK: /v2/provider-credentials, by status.
import { describe, expect, test } from 'vitest'
import { type Answer, startService, withService } from '../../test/support/service.ts'
import { Refusal } from '../core/refusal.ts'
import type { VerifyCredential } from './credential.ts'

const CREDENTIALS = '/v2/provider-credentials'
const SECRET = 'sk-proj-0123456789-abcdefghij'
const OURS = { provider: 'openai', name: 'ours', secret: SECRET }
const identity = ({ status, body }: Answer) => [status, body.error?.type, body.error?.code]

withService((service) => {
  test('R20 200: entered, listed and retrieved, and its secret never shown or logged', async () => {
    const { post, get, project } = await service().newProject()
    const entered = await post(CREDENTIALS, { ...OURS, name: ' ours ', base_url: 'https://api.example.com/v1' })
    expect(entered.body).toEqual({
      id: expect.stringMatching(/^pcr_/),
      object: 'provider_credential',
      project_id: project.id,
      provider: 'openai',
      name: 'ours',
      masked: 'sk-p…ghij',
      base_url: 'https://api.example.com/v1',
      status: 'active',
      created_at: service().clock.rfc3339(),
    })
    const got = await get(`${CREDENTIALS}/${entered.body.id}`)
    const listed = await get(CREDENTIALS)
    expect(got.body).toEqual(entered.body)
    expect(listed.body).toEqual({ object: 'list', data: [entered.body], has_more: false })
    for (const text of [entered, got, listed].map(({ bytes }) => bytes.toString()).concat(service().log))
      expect(text).not.toContain(SECRET.slice(4, -4))
  })

  test('R20 200: a keyed entry replays its answer, and enters one', async () => {
    const { post, get } = await service().newProject()
    const key = { 'agent-idempotency-key': 'enter' }
    const [first, again] = [await post(CREDENTIALS, OURS, key), await post(CREDENTIALS, OURS, key)]
    expect([again.headers['agent-idempotent-replay'], again.bytes]).toEqual(['true', first.bytes])
    expect((await get(CREDENTIALS)).body.data).toHaveLength(1)
  })

  test('R7 200: revoked, twice, and still in the list; newest first', async () => {
    const { post, get, del } = await service().newProject()
    const [{ id }, { id: newer }] = [(await post(CREDENTIALS, OURS)).body, (await post(CREDENTIALS, OURS)).body]
    for (let times = 0; times < 2; times++)
      expect((await del(`${CREDENTIALS}/${id}`)).body).toEqual({
        id,
        object: 'provider_credential.revoked',
        revoked: true,
      })
    const { data } = (await get(CREDENTIALS)).body
    expect(data.map((one: { id: string; status: string }) => [one.id, one.status])).toEqual([
      [newer, 'active'],
      [id, 'revoked'],
    ])
  })

  test.each([
    ['no provider', { provider: undefined }, 'provider'],
    ['a blank name', { name: ' ' }, 'name'],
    ['no secret', { secret: undefined }, 'secret'],
    ['an empty secret', { secret: '' }, 'secret'],
    ['a secret with a line break', { secret: 'sk-1\r\nx-evil: 1' }, 'secret'],
    ['a secret with a blank', { secret: 'sk 1' }, 'secret'],
    ['a secret of other letters', { secret: 'gehéim' }, 'secret'],
    ['a secret of 4097 characters', { secret: 'x'.repeat(4_097) }, 'secret'],
    ['a number for a secret', { secret: 7 }, 'secret'],
    ['a relative base_url', { base_url: '/v1' }, 'base_url'],
    ['a file for a base_url', { base_url: 'file:///etc/passwd' }, 'base_url'],
    ['credentials in the base_url', { base_url: 'https://a:b@host/' }, 'base_url'],
    ['null for a base_url', { base_url: null }, 'base_url'],
  ])(
    'R12, R8 400 on %s, naming the field and nothing of the secret; nothing is stored',
    async (_case, wrong, field) => {
      const { post } = await service().newProject()
      const answer = await service().storingNothing(() => post(CREDENTIALS, { ...OURS, ...wrong }))
      expect(identity(answer)).toEqual([400, 'invalid_request_error', undefined])
      expect(answer.body.error.message).toContain(`'${field}'`)
      expect(answer.body.error.message).not.toMatch(/sk|evil|geh/)
    },
  )

  test('§5.8 404 on another project’s credential, and on an unknown one; nothing is stored', async () => {
    const [home, other] = [await service().newProject(), await service().newProject()]
    const { id: theirs } = (await other.post(CREDENTIALS, OURS)).body
    for (const id of [theirs, 'pcr_unknown', '%00'])
      for (const [method, path] of [
        ['GET', ''],
        ['DELETE', ''],
        ['POST', '/verify'],
      ] as const) {
        const answer = await service().storingNothing(() => home.send(method, `${CREDENTIALS}/${id}${path}`))
        expect(identity(answer), `${method} ${id}${path}`).toEqual([404, 'invalid_request_error', undefined])
      }
    expect((await other.get(`${CREDENTIALS}/${theirs}`)).body.status).toBe('active')
  })
})

describe('POST /v2/provider-credentials/{credential_id}/verify', () => {
  /** A service with a provider that the test answers for, and one credential of it. */
  async function asking(verifyCredential: VerifyCredential) {
    const { send, post, storingNothing, clock } = await startService({ parts: { verifyCredential } })
    const { body: credential } = await post(CREDENTIALS, OURS)
    const url = `${CREDENTIALS}/${credential.id}`
    const verify = (headers = {}) => send('POST', `${url}/verify`, { headers })
    return { clock, credential, storingNothing, verify, get: () => send('GET', url), revoke: () => send('DELETE', url) }
  }

  test('§8 200: the provider’s verdict is kept, and the provider was shown the secret itself', async () => {
    const asked: unknown[] = []
    const { verify, credential, get, clock } = await asking(async (...asking) => {
      asked.push(asking)
      return asked.length === 1 ? 'refused' : 'active'
    })
    clock.advance(1_000)
    for (const status of ['refused', 'active']) {
      const { body } = await verify()
      expect(body).toEqual({ ...credential, status, verified_at: clock.rfc3339() })
      expect((await get()).body).toEqual(body)
    }
    expect(asked[0]).toEqual([credential, SECRET])
  })

  test('§11 200: a repeat with the same idempotency key replays the first verdict and asks nobody', async () => {
    let times = 0
    const { verify } = await asking(async () => (++times === 1 ? 'refused' : 'active'))
    const key = { 'agent-idempotency-key': 'verify' }
    const [first, second] = [await verify(key), await verify(key)]
    expect([first.body.status, second.body.status, times]).toEqual(['refused', 'refused', 1])
    expect(second.headers['agent-idempotent-replay']).toBe('true')
  })

  test('R21 the store is free while the provider takes its time; a revocation meanwhile stands', async () => {
    let begin = () => {}
    let answer = (_verdict: 'active') => {}
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const verdict = new Promise<'active'>((resolve) => {
      answer = resolve
    })
    const { verify, revoke } = await asking(() => {
      begin()
      return verdict
    })
    const verifying = verify({ 'agent-idempotency-key': 'slow' })
    await begun
    expect((await revoke()).status).toBe(200)
    answer('active')
    expect((await verifying).body.status).toBe('revoked')
  })

  test('R7 400 on a revoked credential: there is nothing left to ask with', async () => {
    let times = 0
    const { verify, revoke, storingNothing } = await asking(async () => {
      times++
      return 'active'
    })
    await revoke()
    expect(identity(await storingNothing(verify))).toEqual([400, 'invalid_request_error', undefined])
    expect(times).toBe(0)
  })

  test('R2 502 where the provider could not be reached, and nothing is stored', async () => {
    const { verify, storingNothing } = await asking(async () => {
      throw new Refusal('upstream_failed', 'The provider did not answer.')
    })
    expect(identity(await storingNothing(verify))).toEqual([502, 'server_error', 'upstream_error'])
  })
})
