// /v2/saved-views by status: each caller has their own, of a bounded number, and a name once.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { type TestProject, withService } from '../../test/support/service.ts'
import { SECOND_MS } from '../core/clock.ts'
import { sql } from '../storage/db.ts'
import { savedView } from './saved-view.ts'
import { savedViewStore, VIEWS_AT_ONCE } from './saved-view-store.ts'

const VIEWS = '/v2/saved-views'
const VIEW = { page: 'requests', name: 'failed at night', query: 'outcome=failed&range=24h' } as const
const RUN = { name: 'run', limit_usd: 0, ttl_seconds: 1 }
const names = (body: { data: { name: string; query: string }[] }) => body.data.map(({ name, query }) => [name, query])

withService((service) => {
  test('0328 200: saved, listed by name, replaced by the same name, deleted; another key has its own', async () => {
    const { post, get, del, keyWith } = await service().newProject()
    const { status, body } = await post(VIEWS, VIEW)
    expect([status, body.object, body.query]).toEqual([200, 'saved_view', VIEW.query])
    await post(VIEWS, { ...VIEW, name: 'a', query: '' })
    const again = await post(VIEWS, { ...VIEW, query: 'outcome=refused' })
    expect(again.body.id).toBe(body.id)
    expect(names((await get(VIEWS)).body)).toEqual([
      ['a', ''],
      ['failed at night', 'outcome=refused'],
    ])
    const other = service().as(await keyWith('read'))
    expect((await other.get(VIEWS)).body.data).toEqual([])
    expect((await other.del(`${VIEWS}/${body.id}`)).status).toBe(404)
    expect((await del(`${VIEWS}/${body.id}`)).body).toMatchObject({ object: 'saved_view.deleted', deleted: true })
    expect((await del(`${VIEWS}/${body.id}`)).status).toBe(404)
    expect(names((await get(VIEWS)).body)).toEqual([['a', '']])
  })

  test.each([
    [{ ...VIEW, page: 'keys' }, 'page'],
    [{ ...VIEW, name: ' ' }, 'name'],
    [{ ...VIEW, name: 'x'.repeat(81) }, 'name'],
    [{ ...VIEW, query: 'x'.repeat(2_001) }, 'query'],
    [{ ...VIEW, query: 'e='.concat('ä'.repeat(1_000)) }, 'query'],
    [{ page: 'requests', name: 'x' }, 'query'],
  ])('0328 400: %o names the field, and nothing is stored', async (view, field) => {
    const { post, get } = await service().newProject()
    const { status, body } = await post(VIEWS, view)
    expect(status).toBe(400)
    expect(body.error.message).toContain(`'${field}'`)
    expect((await get(VIEWS)).body.data).toEqual([])
  })

  test('0328 429: a hundred are enough; one that is there can still be changed', async () => {
    const { post, get } = await service().newProject()
    for (let n = 0; n < 100; n++) expect((await post(VIEWS, { ...VIEW, name: `v${n}` })).status).toBe(200)
    expect((await post(VIEWS, VIEW)).body.error.type).toBe('quota_exceeded')
    expect((await post(VIEWS, { ...VIEW, name: 'v7', query: 'layer=budget' })).body.query).toBe('layer=budget')
    expect((await get(VIEWS)).body.data).toHaveLength(100)
  })

  const kept = async ({ project }: TestProject) =>
    (
      await service().db.rows<{ owner: string }>(sql`SELECT owner FROM saved_view WHERE project_id = ${project.id}`)
    ).map(({ owner }) => owner)

  test('R64 a child’s views go with it: of children in a row there are never more than of one', async () => {
    const home = await service().newProject()
    const parent = (await home.post('/v2/api-keys', { name: 'ci', scopes: ['inference'] })).body
    const orchestrator = service().as(parent.key)
    for (let run = 0; run < 3; run++) {
      const child = await orchestrator.post(`/v2/api-keys/${parent.id}/children`, RUN)
      for (let n = 0; n < 3; n++)
        await service()
          .as(child.body.key)
          .post(VIEWS, { ...VIEW, name: `v${n}` })
      expect(await kept(home)).toEqual([child.body.id, child.body.id, child.body.id])
      service().clock.advance(SECOND_MS)
    }
    await service().housekeep('end keys')
    expect(await kept(home)).toEqual([])
  })

  test('R64 the views of a key that is revoked go, with those of its children; others stay', async () => {
    const home = await service().newProject()
    const ids: Record<string, string> = {}
    for (const name of ['plain', 'parent', 'stays']) {
      const { id, key } = (await home.post('/v2/api-keys', { name, scopes: ['inference'] })).body
      ids[name] = id
      await service().as(key).post(VIEWS, VIEW)
    }
    const child = await home.post(`/v2/api-keys/${ids.parent}/children`, RUN)
    await service().as(child.body.key).post(VIEWS, VIEW)
    expect(await kept(home)).toHaveLength(4)
    for (const id of [ids.plain, ids.parent]) expect((await home.del(`/v2/api-keys/${id}`)).status).toBe(200)
    expect(await kept(home)).toEqual([ids.stays])
  })

  test('R70 what was saved for who is gone is forgotten; what keys and members have stays', async () => {
    const home = await service().newProject()
    const { id, key } = (await home.post('/v2/api-keys', { name: 'ci', scopes: ['inference'] })).body
    const child = (await home.post(`/v2/api-keys/${id}/children`, RUN)).body
    const [member] = await service().db.rows<{ person_id: string }>(sql`
      SELECT person_id FROM membership WHERE project_id = ${home.project.id}`)
    const there = [home.key_id, id, child.id, member?.person_id ?? '']
    const save = (owner: string, name: string) =>
      savedViewStore(service().db).save(home.project.id, owner, savedView({ ...VIEW, name }, NOON), NOON)
    for (const owner of [...there, 'usr_gone', 'key_gone']) await save(owner, 'one')
    for (let n = 0; n < 2 * VIEWS_AT_ONCE; n++) await save(`usr_${n}`, 'one')
    await service().housekeep('forget views of nobody')
    expect((await kept(home)).sort()).toEqual(there.toSorted())
    await service().as(key).post(VIEWS, VIEW)
    service().clock.advance(SECOND_MS)
    await service().housekeep('end keys')
    await home.del(`/v2/api-keys/${id}`)
    for (const owner of [id, child.id]) await save(owner, 'behind its end')
    await service().housekeep('forget views of nobody')
    expect((await kept(home)).sort()).toEqual([home.key_id, member?.person_id].sort())
  })

  test('R70 429: a project has a bound of its own, whichever keys save; the operator sets it', async () => {
    const home = await service().newProject()
    const operator = await service().operator()
    expect((await operator.post(`/v2/operator/projects/${home.project.id}/quotas`, { saved_views: 3 })).status).toBe(
      200,
    )
    const keys = [home.key, await home.keyWith('read'), await home.keyWith('read'), await home.keyWith('read')]
    const made = []
    for (const key of keys) made.push(await service().as(key).post(VIEWS, VIEW))
    expect(made.map(({ status }) => status)).toEqual([200, 200, 200, 429])
    expect(made.at(-1)?.body.error).toMatchObject({
      type: 'quota_exceeded',
      message: 'This project has as many saved views as it may have (3). Delete some, or ask the operator for more.',
    })
    expect(await kept(home)).toHaveLength(3)
    await home.del(`${VIEWS}/${made[0]?.body.id}`)
    expect((await service().as(keys[3]).post(VIEWS, VIEW)).status).toBe(200)
  })
})
