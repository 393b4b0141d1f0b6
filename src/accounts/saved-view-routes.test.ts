// /v2/saved-views by status: each caller has their own, of a bounded number, and a name once.
import { expect, test } from 'vitest'
import { withService } from '../../test/support/service.ts'

const VIEWS = '/v2/saved-views'
const VIEW = { page: 'requests', name: 'failed at night', query: 'outcome=failed&range=24h' }
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
})
