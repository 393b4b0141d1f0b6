// GET /v2/attention over the whole service: what the store and the breakers of this process know, and for whom.
import { expect, test } from 'vitest'
import { SECOND_MS } from '../../src/core/clock.ts'
import { sql } from '../../src/storage/db.ts'
import { type Stage, setKeyLimit, withScene } from '../support/inference-scene.ts'
import type { TestProject } from '../support/service.ts'

interface Item {
  severity: string
  kind: string
  about: { type: string; id: string; name: string | null }
}

const itemsOf = async ({ get }: Pick<TestProject, 'get'>, of: (item: Item) => boolean = () => true) =>
  ((await get('/v2/attention')).body.data as Item[])
    .filter(of)
    .map(({ severity, kind, about }) => `${severity} ${kind} ${about.type} ${about.id}`)

withScene((scene) => {
  const ownOf = (stage: Stage) => itemsOf(stage, ({ about }) => about.type !== 'provider')

  test('§4.4, R13 200: keys and cap near their limit, held counted as spent; clusters; a read key may ask', async () => {
    const stage = await scene().stage({ project: 1_000_000 })
    const { db, clock } = scene()
    const id = stage.project.id
    expect(await ownOf(stage)).toEqual([])
    await setKeyLimit(db, stage.key_id, 1_000_000)
    await db.rows(sql`
      UPDATE api_key SET spent_micros = 700000, held_micros = 100000 WHERE id = ${stage.key_id} RETURNING id`)
    await db.rows(sql`UPDATE project SET spent_micros = 949999, held_micros = 1 WHERE id = ${id} RETURNING id`)
    const cluster = (await stage.post('/v2/byoc/clusters', { name: 'atlas', region: 'eu' })).body.id
    await stage.post(`/v2/byoc/clusters/${cluster}/heartbeat`, { status: 'active' })
    clock.advance(46 * SECOND_MS)
    const reader = scene().as(await stage.keyWith('read'))
    const expected = [
      `critical project_cap project ${id}`,
      `warning key_budget api_key ${stage.key_id}`,
      `warning cluster_silent byoc_cluster ${cluster}`,
    ]
    expect(await itemsOf(reader, ({ about }) => about.type !== 'provider')).toEqual(expected)
    expect(await ownOf(await scene().stage())).toEqual([])
    await db.rows(sql`UPDATE api_key SET status = 'revoked' WHERE id = ${stage.key_id} RETURNING id`)
    expect(await itemsOf(reader, ({ about }) => about.type === 'api_key')).toEqual([])
  })

  test('R47 200: a provider that failed five times in a row, until it answers again', async () => {
    const stage = await scene().stage()
    const ofIt = () => itemsOf(stage, ({ about }) => about.id === stage.first)
    stage.one.behave({ status: 500 })
    for (let n = 0; n < 4; n++) await stage.chat()
    expect(await ofIt()).toEqual([])
    await stage.chat()
    expect(await ofIt()).toEqual([`warning breaker_open provider ${stage.first}`])
    stage.one.behave({})
    scene().clock.advance(30 * SECOND_MS)
    expect((await stage.chat()).status).toBe(200)
    expect(await ofIt()).toEqual([])
  })

  test('R78 200: usage that cannot be added up, to its own project', async () => {
    const [stage, other] = [await scene().stage(), await scene().stage()]
    await scene().db.rows(sql`
      INSERT INTO usage_quarantine (trace_id, project_id, key_id, created_ms, charged_micros, reason, set_aside_ms)
      VALUES (${`trc_${stage.project.id}`}, ${stage.project.id}, 'key_1', 1, 2500000, 'too large', 1)`)
    expect(await ownOf(stage)).toEqual([`warning usage_set_aside project ${stage.project.id}`])
    expect(await ownOf(other)).toEqual([])
  })

  test('§5.6 200: an owner who has not verified', async () => {
    const { get, project } = await scene().newProject({ verified: false })
    expect(await itemsOf({ get }, ({ about }) => about.type !== 'provider')).toEqual([
      `warning owner_unverified project ${project.id}`,
    ])
  })

  test('200: credentials that were refused and subscriptions that run out', async () => {
    const stage = await scene().stage()
    const { db } = scene()
    const credential = { provider: 'openai', name: 'mine', secret: 'sk-0123456789abcdef' }
    const pcr = (await stage.post('/v2/provider-credentials', credential)).body.id
    await db.rows(sql`UPDATE provider_credential SET status = 'refused' WHERE id = ${pcr} RETURNING id`)
    const plan = { plan: 'pro', provider: stage.first, input_discount_pct: 5, allowance_tokens: 100 }
    const sub = (await stage.subscribe(plan)).body.id
    await db.rows(sql`UPDATE subscription SET used_tokens = 80 WHERE id = ${sub} RETURNING id`)
    expect(await ownOf(stage)).toEqual([
      `critical credential_refused provider_credential ${pcr}`,
      `warning subscription_used_up subscription ${sub}`,
    ])
  })
})
