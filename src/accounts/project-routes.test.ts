// /v2/project, by status.
import { expect, test } from 'vitest'
import { epochsRaised } from '../../test/support/projects.ts'
import { type Answer, withService } from '../../test/support/service.ts'
import { foundProject } from '../start/bootstrap.ts'

const PROJECT = '/v2/project'
const identity = ({ status, body }: Answer) => [status, body.error?.type, body.error?.code]

withService((service) => {
  test('§5.8 200: the project of the key, without what was not set', async () => {
    await service().operator() // R79: what comes after it is an ordinary project
    const { get, project } = await service().newProject()
    expect((await get(PROJECT)).body).toEqual({
      id: project.id,
      object: 'project',
      name: 'home',
      owner_verified: true,
      created_at: service().clock.rfc3339(),
      overage_enabled: false,
      recordings_enabled: false,
      second_factor_required: false,
      spent_micros: 0,
      held_micros: 0,
      boundary: 'own_first',
    })
    expect((await (await service().newProject({ verified: false })).get(PROJECT)).body.owner_verified).toBe(false)
  })

  test('R6 200: a cap is set exactly, kept by an empty body, lowered to nothing, cleared', async () => {
    const { post, get } = await service().newProject()
    const set = async (body: object) => {
      const answer = await post(`${PROJECT}/cap`, body)
      expect((await get(PROJECT)).body).toEqual(answer.body)
      return [answer.status, answer.body.cap_micros]
    }
    expect(await set({ limit_usd: 8.2 })).toEqual([200, 8_200_000])
    expect(await set({})).toEqual([200, 8_200_000])
    expect(await set({ limit_usd: -0 })).toEqual([200, 0])
    expect(await set({ limit_usd: null })).toEqual([200, undefined])
    expect((await get(PROJECT)).body).not.toHaveProperty('cap_micros')
  })

  test('0162 400: a name that another project of the same owner has; other people’s do not count', async () => {
    const { post, project } = await service().newProject()
    await service().newProject() // somebody else's, also called home
    const own = { name: 'quay', owner_email: 'quay@example.com', verified: true }
    const one = await foundProject(service().db, own, service().clock.now())
    const two = await foundProject(service().db, { ...own, name: 'dock' }, service().clock.now())
    const rename = (name: string) => service().as(two.key.raw).post(`${PROJECT}/name`, { name })
    const refused = await service().storingNothing(() => rename(' quay '))
    expect(identity(refused)).toEqual([400, 'invalid_request_error', undefined])
    expect(refused.body.error.message).toMatch(/^'name' must be another one/)
    expect([(await rename('dock')).status, (await rename('home')).body.name]).toEqual([200, 'home'])
    expect((await post(`${PROJECT}/name`, { name: 'quay' })).status).toBe(200)
    expect([one.project.name, project.name]).toEqual(['quay', 'home'])
  })

  test('R8 200: a project is renamed, trimmed, and its people see it', async () => {
    const { post, get } = await service().newProject()
    const answer = await post(`${PROJECT}/name`, { name: '  harbour ' })
    expect([answer.status, answer.body.name]).toEqual([200, 'harbour'])
    expect((await get(PROJECT)).body).toEqual(answer.body)
  })

  test('R40 200: regions are set, trimmed and each once, then lifted; each time the routing epoch is raised', async () => {
    const { post, get, project } = await service().newProject()
    const set = async (allowed_regions: unknown) => {
      const raised = await epochsRaised(service().db, project.id, () => post(`${PROJECT}/regions`, { allowed_regions }))
      return [raised, (await get(PROJECT)).body.allowed_regions]
    }
    await post('/v2/byoc/clusters', { name: 'atlas', region: 'eu' })
    await post('/v2/provider-credentials', { provider: 'openai', name: 'mine', secret: 'sk-0123456789' })
    expect(await set([' eu ', 'local', 'eu', 'global'])).toEqual([1, ['eu', 'local', 'global']])
    expect(await set(null)).toEqual([1, undefined])
  })

  test('R40 400: a region that nothing is in, naming those that there are; nothing is stored', async () => {
    const [{ post }, other] = [await service().newProject(), await service().newProject()]
    await post('/v2/byoc/clusters', { name: 'atlas', region: 'eu' })
    await other.post('/v2/byoc/clusters', { name: 'theirs', region: 'mars' })
    for (const allowed_regions of [
      ['eu', 'eu-typo'],
      ['eu', 'mars'],
    ]) {
      const answer = await service().storingNothing(() => post(`${PROJECT}/regions`, { allowed_regions }))
      expect(identity(answer)).toEqual([400, 'invalid_request_error', undefined])
      expect(answer.body.error.message).toMatch(/^'allowed_regions\[1\]' must be .*: 'eu', 'local'\.$/)
    }
  })

  test('R72 200: overage is enabled and disabled by itself; an absent field changes nothing', async () => {
    const { post, get } = await service().newProject()
    const set = async (body: object) => {
      const { cap_micros, overage_enabled } = (await post(`${PROJECT}/cap`, body)).body
      expect((await get(PROJECT)).body).toMatchObject({ overage_enabled })
      return [cap_micros, overage_enabled]
    }
    expect(await set({ limit_usd: 2, overage_enabled: true })).toEqual([2_000_000, true])
    expect(await set({})).toEqual([2_000_000, true])
    expect(await set({ limit_usd: 3 })).toEqual([3_000_000, true])
    expect(await set({ overage_enabled: false })).toEqual([3_000_000, false])
    expect(await set({ limit_usd: null })).toEqual([undefined, false])
  })

  test('R73 200: the boundary is set, shown, and raises the routing epoch', async () => {
    const { post, get, project } = await service().newProject()
    const set = (boundary: string) =>
      epochsRaised(service().db, project.id, () => post(`${PROJECT}/boundary`, { boundary }))
    expect([await set('own_only'), (await get(PROJECT)).body.boundary]).toEqual([1, 'own_only'])
    expect([await set('own_first'), (await get(PROJECT)).body.boundary]).toEqual([1, 'own_first'])
  })

  test.each([
    ['no name', 'name', {}],
    ['a blank name', 'name', { name: '  ' }],
    ['a number for a name', 'name', { name: 7 }],
    ['a name of 257', 'name', { name: 'n'.repeat(257) }],
    ['a negative cap', 'cap', { limit_usd: -1 }],
    ['a cap as text', 'cap', { limit_usd: '5' }],
    ['a cap finer than a micro', 'cap', { limit_usd: 0.1234567 }],
    ['a cap beyond counting', 'cap', { limit_usd: 1e300 }],
    ['overage as text', 'cap', { overage_enabled: 'yes' }],
    ['a null overage', 'cap', { limit_usd: 1, overage_enabled: null }],
    ['no boundary', 'boundary', {}],
    ['a boundary that there is not', 'boundary', { boundary: 'own_last' }],
    ['no regions said', 'regions', {}],
    ['no region at all', 'regions', { allowed_regions: [] }],
    ['a blank region', 'regions', { allowed_regions: ['eu', ' '] }],
    ['a region as text', 'regions', { allowed_regions: 'eu' }],
    ['a number for a region', 'regions', { allowed_regions: [1] }],
    ['65 regions', 'regions', { allowed_regions: Array.from({ length: 65 }, (_, n) => `r${n}`) }],
  ])('R6, R8 400 on %s, and nothing is stored', async (_case, what, body) => {
    const { post } = await service().newProject()
    const answer = await service().storingNothing(() => post(`${PROJECT}/${what}`, body))
    expect(identity(answer)).toEqual([400, 'invalid_request_error', undefined])
    expect(answer.body.error.message).toMatch(/'(name|limit_usd|overage_enabled|boundary|allowed_regions)/)
  })

  test('R3 403 on a key that may not manage, and nothing is stored', async () => {
    const { keyWith } = await service().newProject()
    const { post, get } = service().as(await keyWith('inference'))
    expect((await get(PROJECT)).status).toBe(200)
    for (const [what, body] of [
      ['name', { name: 'mine' }],
      ['cap', { limit_usd: 1 }],
      ['regions', { allowed_regions: null }],
      ['boundary', { boundary: 'own_only' }],
    ] as const)
      expect((await service().storingNothing(() => post(`${PROJECT}/${what}`, body))).status).toBe(403)
  })
})
