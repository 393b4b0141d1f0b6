// /v2/byoc/clusters/{cluster_id}/transitions, by status.
import { expect, test } from 'vitest'
import { withService } from '../../test/support/service.ts'
import { SECOND_MS } from '../core/clock.ts'

const CLUSTERS = '/v2/byoc/clusters'

withService((service) => {
  test('§3.1 200: what became of a cluster, for a key that may only read', async () => {
    const { post, del, keyWith } = await service().newProject()
    const { get } = service().as(await keyWith('read'))
    const { clock } = service()
    const { id } = (await post(CLUSTERS, { name: 'atlas', region: 'eu' })).body
    clock.advance(1_000)
    await post(`${CLUSTERS}/${id}/heartbeat`, { status: 'active' })
    const reported_at = clock.rfc3339()
    clock.advance(90 * SECOND_MS)
    await service().housekeep('sweep silent clusters')
    await del(`${CLUSTERS}/${id}`)
    const { status, body } = await get(`${CLUSTERS}/${id}/transitions`)
    expect([status, body.has_more]).toEqual([200, false])
    expect(body.data.map(({ from, to, why }: Record<string, string>) => [from, to, why])).toEqual([
      ['down', 'deregistered', 'deregister'],
      ['active', 'down', 'sweep'],
      ['registering', 'active', 'heartbeat'],
      [null, 'registering', 'register'],
    ])
    expect(body.data[2]).toMatchObject({ object: 'byoc_cluster.transition', cluster_id: id, at: reported_at })
  })

  test('§5.8 404 on a cluster of another project, and on none at all', async () => {
    const [mine, theirs] = [await service().newProject(), await service().newProject()]
    const { id } = (await theirs.post(CLUSTERS, { name: 'atlas', region: 'eu' })).body
    for (const unseen of [id, 'byc_none'])
      expect((await mine.get(`${CLUSTERS}/${unseen}/transitions`)).status).toBe(404)
  })
})
