// §8.2, R10, R11: lists come whole, on one page.
import { expect, test } from 'vitest'
import { createKey } from '../../src/keys/key.ts'
import { keyStore } from '../../src/keys/key-store.ts'
import { withService } from '../support/service.ts'

withService((service) => {
  test.each(['?limit=1', '?after=x', '?cursor=1&page=2'])('§8.2 there is no cursor: %s is ignored', async (query) => {
    const { post, get } = await service().newProject()
    for (let n = 0; n < 3; n++) await post('/v2/byoc/clusters', { name: `c${n}`, region: 'eu' })
    const [plain, asked] = [await get('/v2/byoc/clusters'), await get(`/v2/byoc/clusters${query}`)]
    expect([asked.status, asked.bytes.equals(plain.bytes), asked.body.data.length]).toEqual([200, true, 3])
  })

  test('§8.2, R10 a thousand keys are one page with has_more false', async () => {
    const { db, clock, newProject } = service()
    const { project, get } = await newProject()
    const made = Array.from({ length: 1_000 }, (_, n) => createKey(project.id, { name: `k${n}` }, clock.now()))
    for (const one of made) await keyStore(db).insert(one, clock.now())
    const { body } = await get('/v2/api-keys')
    expect([body.object, body.has_more, body.data.length]).toEqual(['list', false, 1_001])
    expect(body.data.slice(0, 1_000).map((one: { id: string }) => one.id)).toEqual(
      made.map(({ api_key }) => api_key.id).reverse(),
    )
  })

  test('R10 an empty list has the same envelope', async () => {
    const { get } = await service().newProject()
    expect((await get('/v2/byoc/clusters')).bytes.toString()).toBe('{"object":"list","data":[],"has_more":false}')
  })
})
