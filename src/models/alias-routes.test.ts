// §9.4: /v2/aliases and /v2/alias-releases, by status.
import { expect, test } from 'vitest'
import { type Answer, type TestProject, withService } from '../../test/support/service.ts'

const ALIASES = '/v2/aliases'
const TARGET = { provider: 'openai', model: 'gpt-4o' }
const FAST = { name: 'fast', targets: [TARGET] }
const identity = ({ status, body }: Answer) => [status, body.error?.type, body.error?.code]
const encoded = encodeURIComponent('team/fast')

withService((service) => {
  async function clusterOf({ post }: TestProject): Promise<string> {
    return (await post('/v2/byoc/clusters', { name: 'atlas', region: 'eu' })).body.id
  }

  async function credentialOf({ post }: TestProject): Promise<string> {
    const body = { provider: 'openai', name: 'ours', secret: 'sk-0123456789abcdef' }
    return (await post('/v2/provider-credentials', body)).body.id
  }

  test('§9.4 200: alias and first release at once', async () => {
    const { post, get } = await service().newProject()
    const { status, body } = await post(ALIASES, FAST)
    expect([status, body.object, body.name]).toEqual([200, 'alias', 'fast'])
    expect((await get(`${ALIASES}/fast`)).body).toEqual(body)
    const release = (await get(`/v2/alias-releases/${body.current_release_id}`)).body
    expect(release).toMatchObject({ object: 'alias_release', version: 1, targets: [{ ...TARGET, weight: 1 }] })
    expect((await get(`${ALIASES}/fast/releases`)).body).toEqual({ object: 'list', data: [release], has_more: false })
  })

  test('§9.4 200: a name with a slash is one segment of the address, written %2F', async () => {
    const { post, get, del } = await service().newProject()
    await post(ALIASES, { ...FAST, name: 'team/fast' })
    expect((await get(`${ALIASES}/${encoded}`)).body.name).toBe('team/fast')
    const { body: second } = await post(`${ALIASES}/${encoded}/releases`, { targets: [TARGET] })
    expect(second).toMatchObject({ alias_name: 'team/fast', version: 2 })
    expect((await get(`${ALIASES}/${encoded}/releases`)).body.data).toHaveLength(2)
    expect((await get(`${ALIASES}/team/fast`)).status).toBe(404)
    expect((await del(`${ALIASES}/team%2Ffast`)).body).toMatchObject({ object: 'alias.deleted', deleted: true })
    expect((await get(`${ALIASES}/${encoded}`)).status).toBe(404)
  })

  test('R23 200: the same idempotency key on another writing of the name replays', async () => {
    const { post } = await service().newProject()
    await post(ALIASES, { ...FAST, name: 'team/fast' })
    const key = { 'agent-idempotency-key': 'k1' }
    const first = await post(`${ALIASES}/team%2Ffast/releases`, { targets: [TARGET] }, key)
    const again = await post(`${ALIASES}/te%61m%2ffast/releases`, { targets: [TARGET] }, key)
    expect(again.headers['agent-idempotent-replay']).toBe('true')
    expect(again.bytes).toEqual(first.bytes)
  })

  test('§9.4 200: activating moves the pointer, and back', async () => {
    const { post, get } = await service().newProject()
    const { current_release_id: first } = (await post(ALIASES, FAST)).body
    const { id: second } = (await post(`${ALIASES}/fast/releases`, { targets: [TARGET, TARGET] })).body
    expect((await get(`${ALIASES}/fast`)).body.current_release_id).toBe(first)
    for (const release of [second, first, first]) {
      const { status, body } = await post(`/v2/alias-releases/${release}/activate`)
      expect([status, body.current_release_id]).toEqual([200, release])
      expect((await get(`${ALIASES}/fast`)).body).toEqual(body)
    }
  })

  test('R11 200: newest first', async () => {
    const { post, get } = await service().newProject()
    for (const name of ['a', 'b', 'c']) await post(ALIASES, { ...FAST, name })
    const { data, has_more } = (await get(ALIASES)).body
    expect([data.map((alias: { name: string }) => alias.name), has_more]).toEqual([['c', 'b', 'a'], false])
  })

  test('§9.4 200: clusters and credentials of the project may be targets', async () => {
    const home = await service().newProject()
    const [cluster_id, credential_id] = [await clusterOf(home), await credentialOf(home)]
    const targets = [
      { cluster_id, model: 'llama', weight: 0 },
      { credential_id, model: 'gpt-4o', weight: 3 },
    ]
    const { current_release_id } = (await home.post(ALIASES, { name: 'own', targets })).body
    expect((await home.get(`/v2/alias-releases/${current_release_id}`)).body.targets).toEqual(targets)
  })

  test.each([
    ['no name', { name: undefined }, "'name'"],
    ['capital letters', { name: 'Fast' }, "'name'"],
    ['65 characters', { name: 'x'.repeat(65) }, "'name'"],
    ['no targets', { targets: [] }, "'targets'"],
    ['33 targets', { targets: Array(33).fill(TARGET) }, "'targets'"],
    ['two destinations', { targets: [{ ...TARGET, cluster_id: 'byc_1' }] }, "'targets[0]'"],
    ['no destination', { targets: [TARGET, { model: 'm' }] }, "'targets[1]'"],
    ['no model', { targets: [{ provider: 'a' }] }, "'targets[0].model'"],
    ['no weight at all', { targets: [{ ...TARGET, weight: 0 }] }, "'targets'"],
    ['a weight of 1001', { targets: [{ ...TARGET, weight: 1001 }] }, "'targets[0].weight'"],
    ['an unknown cluster', { targets: [{ cluster_id: 'byc_x', model: 'm' }] }, "'targets[0].cluster_id'"],
    ['an unknown credential', { targets: [{ credential_id: 'pcr_x', model: 'm' }] }, "'targets[0].credential_id'"],
  ])('§9.4 400 on %s, naming the field, and nothing is stored', async (_case, wrong, named) => {
    const { post } = await service().newProject()
    const answer = await service().storingNothing(() => post(ALIASES, { ...FAST, ...wrong }))
    expect(identity(answer)).toEqual([400, 'invalid_request_error', undefined])
    expect(answer.body.error.message).toContain(named)
  })

  test('§9.4 400 on the name of an alias that is there, and nothing is stored', async () => {
    const { post } = await service().newProject()
    await post(ALIASES, FAST)
    const answer = await service().storingNothing(() => post(ALIASES, FAST))
    expect([...identity(answer), answer.body.error.message]).toEqual([
      400,
      'invalid_request_error',
      undefined,
      "'name' must be new: there is an alias 'fast'.",
    ])
    const keyed = await service().storingNothing(() => post(ALIASES, FAST, { 'agent-idempotency-key': 'k' }))
    expect(keyed.status).toBe(400)
  })

  test('§5.8 400 on another project’s cluster or credential, and on a revoked one; nothing is stored', async () => {
    const [home, other] = [await service().newProject(), await service().newProject()]
    const revoked = await credentialOf(home)
    await home.del(`/v2/provider-credentials/${revoked}`)
    await home.post(ALIASES, FAST)
    const strange = [
      { cluster_id: await clusterOf(other), model: 'm' },
      { credential_id: await credentialOf(other), model: 'm' },
      { credential_id: revoked, model: 'm' },
    ]
    for (const target of strange)
      for (const [url, body] of [
        [ALIASES, { name: 'x', targets: [target] }],
        [`${ALIASES}/fast/releases`, { targets: [target] }],
      ] as const) {
        const answer = await service().storingNothing(() => home.post(url, body))
        expect(identity(answer)).toEqual([400, 'invalid_request_error', undefined])
        expect(answer.body.error.message).toContain(`'targets[0].${Object.keys(target)[0]}'`)
      }
  })

  test('§5.8 404 on another project’s aliases and releases, and on unknown ones; nothing is stored', async () => {
    const [home, other] = [await service().newProject(), await service().newProject()]
    const { current_release_id } = (await other.post(ALIASES, FAST)).body
    const asks: [string, string, unknown?][] = ['fast', 'unknown', '%00', encoded].flatMap((name) => [
      ['GET', `${ALIASES}/${name}`],
      ['DELETE', `${ALIASES}/${name}`],
      ['GET', `${ALIASES}/${name}/releases`],
      ['POST', `${ALIASES}/${name}/releases`, { targets: [TARGET] }],
    ])
    for (const id of [current_release_id, 'alr_unknown', '%00'])
      asks.push(['GET', `/v2/alias-releases/${id}`], ['POST', `/v2/alias-releases/${id}/activate`])
    for (const [method, url, body] of asks) {
      const answer = await service().storingNothing(() => home.send(method, url, body ? { body } : {}))
      expect(identity(answer), `${method} ${url}`).toEqual([404, 'invalid_request_error', undefined])
    }
  })

  test('§9.4 404 on activating a release whose alias was deleted', async () => {
    const { post, del, get } = await service().newProject()
    const { current_release_id } = (await post(ALIASES, FAST)).body
    await del(`${ALIASES}/fast`)
    expect((await get(`/v2/alias-releases/${current_release_id}`)).status).toBe(200)
    const answer = await service().storingNothing(() => post(`/v2/alias-releases/${current_release_id}/activate`))
    expect([answer.status, answer.body.error.message]).toEqual([404, "No alias 'fast' in this project."])
  })

  test.each(['PATCH', 'PUT', 'DELETE'])('§9.4 405 on %s of a release: releases are immutable', async (method) => {
    const { post, send } = await service().newProject()
    const { current_release_id } = (await post(ALIASES, FAST)).body
    const url = `/v2/alias-releases/${current_release_id}`
    const answer = await service().storingNothing(() => send(method, url, { body: { targets: [] } }))
    expect([answer.status, answer.headers.allow]).toEqual([405, expect.stringContaining('GET')])
  })
})
