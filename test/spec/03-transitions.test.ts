// §3: states and what moves them.
import { expect, test } from 'vitest'
import { type TestProject, withService } from '../support/service.ts'

const CLUSTERS = '/v2/byoc/clusters'

withService((service) => {
  async function cluster({ post }: TestProject) {
    const { id } = (await post(CLUSTERS, { name: 'atlas', region: 'eu' })).body
    return { id, beat: (status: string) => post(`${CLUSTERS}/${id}/heartbeat`, { status }) }
  }

  test('§3.1 a registered cluster is registering and has not been heard of', async () => {
    const home = await service().newProject()
    const { id } = await cluster(home)
    expect((await home.get(`${CLUSTERS}/${id}`)).body).toMatchObject({ status: 'registering', last_heartbeat_at: null })
  })

  test('§3.1 the first active heartbeat makes it active', async () => {
    const { clock, newProject } = service()
    const home = await newProject()
    const { id, beat } = await cluster(home)
    clock.advance(2_000)
    const { body } = await beat('active')
    const at = clock.rfc3339()
    expect(body).toMatchObject({ status: 'active', last_heartbeat_at: at, updated_at: at })
    expect((await home.get(`${CLUSTERS}/${id}`)).body).toEqual(body)
  })

  const states = ['registering', 'active', 'draining', 'down'] as const
  const reports = ['active', 'draining', 'down'] as const
  test.each(states.flatMap((from) => reports.map((to) => [from, to] as const)))(
    'R13 %s, then a heartbeat of %s: applied as reported',
    async (from, to) => {
      const { beat } = await cluster(await service().newProject())
      if (from !== 'registering') await beat(from)
      service().clock.advance(10)
      expect((await beat(to)).body).toMatchObject({ status: to, last_heartbeat_at: service().clock.rfc3339() })
    },
  )

  test('R13 active or draining and silent for 90 s is down; a heartbeat brings it back', async () => {
    const { clock, housekeep, newProject } = service()
    const home = await newProject()
    const [one, two, never] = [await cluster(home), await cluster(home), await cluster(home)]
    await one.beat('active')
    await two.beat('draining')
    const heard = clock.rfc3339()
    const statuses = async () =>
      (await home.get(CLUSTERS)).body.data.map((c: { status: string; last_heartbeat_at: string }) => [
        c.status,
        c.last_heartbeat_at,
      ])
    clock.advance(89_999)
    await housekeep('sweep silent clusters')
    expect(await statuses()).toEqual([
      ['registering', null],
      ['draining', heard],
      ['active', heard],
    ])
    clock.advance(1)
    await housekeep('sweep silent clusters')
    expect(await statuses()).toEqual([
      ['registering', null],
      ['down', heard],
      ['down', heard],
    ])
    expect((await one.beat('active')).body.status).toBe('active')
    expect(never.id).toMatch(/^byc_/)
  })

  test('R13 a heartbeat does not bring a deregistered cluster back', async () => {
    const { get, del, ...home } = await service().newProject()
    const { id, beat } = await cluster({ get, del, ...home })
    await del(`${CLUSTERS}/${id}`)
    expect((await service().storingNothing(() => beat('active'))).status).toBe(404)
    expect((await get(CLUSTERS)).body.data).toEqual([])
  })

  test('§3.2 a new key is active; revoked, it stops working at once and its hash is gone', async () => {
    const { as, db, newProject } = service()
    const { post, get, del } = await newProject()
    const { id, key, status } = (await post('/v2/api-keys', { name: 'ci' })).body
    expect(status).toBe('active')
    expect((await as(key).get(CLUSTERS)).status).toBe(200)
    await del(`/v2/api-keys/${id}`)
    expect((await as(key).get(CLUSTERS)).status).toBe(401)
    const listed = (await get('/v2/api-keys')).body.data.find((one: { id: string }) => one.id === id)
    expect(listed.status).toBe('revoked')
    const [row] = await db.rows<{ hash: null }>({ text: ['SELECT hash FROM api_key WHERE id = ', ''], values: [id] })
    expect(row?.hash).toBeNull()
  })

  test('T-49 revoking twice is 200 with the same bytes; a key may revoke itself', async () => {
    const { as, newProject } = service()
    const { post, del, keyWith, get } = await newProject()
    const { id } = (await post('/v2/api-keys', { name: 'ci' })).body
    const [once, twice] = [await del(`/v2/api-keys/${id}`), await del(`/v2/api-keys/${id}`)]
    expect([once.status, twice.status, twice.bytes.equals(once.bytes)]).toEqual([200, 200, true])
    const own = as(await keyWith('admin'))
    const [self] = (await get('/v2/api-keys')).body.data
    expect((await own.del(`/v2/api-keys/${self.id}`)).status).toBe(200)
    expect((await own.del(`/v2/api-keys/${self.id}`)).status).toBe(401)
  })
})
