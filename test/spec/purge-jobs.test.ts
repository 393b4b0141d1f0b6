// §8.1 /v2/purge-jobs over HTTP: what is refused, what one may do with a job, and what a receipt is worth.
import { expect, test } from 'vitest'
import type { ContentPlaces, Contents } from '../../src/contents/content.ts'
import { DAY_MS } from '../../src/core/clock.ts'
import { quotaStore } from '../../src/limits/quota-store.ts'
import { sql } from '../../src/storage/db.ts'
import { upload } from '../support/forms.ts'
import { type Answer, startService, withService } from '../support/service.ts'

const ALL = { filter: { everything: true }, confirm: 'home' }

withService((service) => {
  const run = () => service().housekeep('run purge jobs')

  test.each([
    ['an empty filter', { filter: {} }, "'filter'"],
    ['no filter', {}, "'filter'"],
    ['everything: false alone', { filter: { everything: false } }, "'filter'"],
    ['everything without its confirmation', { filter: { everything: true } }, "'confirm'"],
    ['another name', { filter: { everything: true }, confirm: 'Home' }, "'confirm'"],
    ['everything beside something', { filter: { everything: true, key_id: 'key_1' }, confirm: 'home' }, 'everything'],
    ['an unknown field of the filter', { filter: { sesion_ids: ['ses_1'] } }, 'sesion_ids'],
    ['an empty list', { filter: { session_ids: [] } }, "'filter.session_ids'"],
    ['too many ids', { filter: { trace_ids: Array.from({ length: 1_001 }, (_, n) => `trc_${n}`) } }, 'trace_ids'],
    ['a NUL', { filter: { trace_ids: ['a\0'] } }, "'filter.trace_ids'"],
    ['no time', { filter: { from: 'yesterday' } }, "'filter.from'"],
    [
      'a range that ends first',
      { filter: { from: '2026-11-15T00:00:00Z', to: '2026-11-14T00:00:00Z' } },
      'filter.from',
    ],
    ['an unknown kind', { filter: { key_id: 'key_1' }, kinds: ['prompts'] }, "'kinds'"],
    ['no kinds', { filter: { key_id: 'key_1' }, kinds: [] }, "'kinds'"],
    ['an unknown mode', { filter: { key_id: 'key_1' }, mode: 'delete' }, 'mode'],
  ])('§8.1 refused, with nothing stored: %s', async (_case, body, named) => {
    const { post } = await service().newProject()
    const answer = await service().storingNothing(() => post('/v2/purge-jobs', body))
    expect([answer.status, answer.body.error.type]).toEqual([400, 'invalid_request_error'])
    expect(answer.body.error.message).toContain(named)
  })

  test('R74 it needs admin, and is on the audit log', async () => {
    const project = await service().newProject()
    const weak = service().as(await project.keyWith('inference', 'read'))
    for (const answer of [
      await service().storingNothing(() => weak.post('/v2/purge-jobs', { ...ALL, mode: 'erase' })),
      await weak.get('/v2/purge-jobs'),
    ])
      expect([answer.status, answer.body.error.type]).toEqual([403, 'insufficient_scope'])
    const { id } = (await project.post('/v2/purge-jobs', ALL)).body
    const { data } = (await project.get('/v2/audit-log')).body
    expect(data[0]).toMatchObject({ action: 'POST /v2/purge-jobs', target: id })
  })

  test('§8.1 of a project one job at a time is under way; another project’s does not count', async () => {
    const [one, two] = [await service().newProject(), await service().newProject()]
    const first = (await one.post('/v2/purge-jobs', { ...ALL, mode: 'erase' })).body
    const plan = (await one.post('/v2/purge-jobs', ALL)).body
    const second = await service().storingNothing(() => one.post('/v2/purge-jobs', { ...ALL, mode: 'erase' }))
    expect([second.status, second.body.error.message]).toEqual([400, expect.stringContaining(first.id)])
    expect((await one.post(`/v2/purge-jobs/${plan.id}/erase`)).status).toBe(400)
    expect((await two.post('/v2/purge-jobs', { ...ALL, mode: 'erase' })).status).toBe(200)
    await run()
    expect((await one.post(`/v2/purge-jobs/${plan.id}/erase`)).body.status).toBe('queued')
    await run()
    expect((await one.get(`/v2/purge-jobs/${plan.id}`)).body.status).toBe('succeeded')
  })

  test('R70 a job that has ended stays on record, and counts for 30 days', async () => {
    const { project, post, get } = await service().newProject()
    await quotaStore(service().db).setMax(project.id, 'purge_jobs', 2)
    const erase = async () => (await post('/v2/purge-jobs', { filter: { trace_ids: ['trc_1'] }, mode: 'erase' })).status
    const statuses = async () => (await get('/v2/purge-jobs')).body.data.map((one: { status: string }) => one.status)
    for (let n = 0; n < 2; n++) {
      expect(await erase()).toBe(200)
      await run()
    }
    expect([await erase(), ...(await statuses())]).toEqual([429, 'succeeded', 'succeeded'])
    service().clock.advance(30 * DAY_MS + 60_000)
    expect([await erase(), (await statuses()).length]).toEqual([200, 3])
  })

  test('§5.8 another project’s job does not exist', async () => {
    const [one, two] = [await service().newProject(), await service().newProject()]
    const { id } = (await one.post('/v2/purge-jobs', ALL)).body
    for (const path of ['', '/receipt']) expect((await two.get(`/v2/purge-jobs/${id}${path}`)).status).toBe(404)
    for (const path of ['/erase', '/cancel'])
      expect((await service().storingNothing(() => two.post(`/v2/purge-jobs/${id}${path}`))).status).toBe(404)
    expect((await two.get('/v2/purge-jobs')).body.data).toEqual([])
    expect((await one.get('/v2/purge-jobs')).body.data.map((job: { id: string }) => job.id)).toEqual([id])
  })

  test('§8.1 a job that was cancelled erases nothing, has no receipt and is over', async () => {
    const project = await service().newProject()
    const { id } = (await project.post('/v2/sessions', {})).body
    service().clock.advance(1)
    const job = (await project.post('/v2/purge-jobs', { ...ALL, mode: 'erase' })).body
    expect((await project.post(`/v2/purge-jobs/${job.id}/cancel`)).body.status).toBe('cancelled')
    await run()
    expect((await project.get(`/v2/sessions/${id}`)).status).toBe(200)
    expect((await project.get(`/v2/purge-jobs/${job.id}/receipt`)).status).toBe(404)
    for (const path of ['cancel', 'erase'])
      expect((await project.post(`/v2/purge-jobs/${job.id}/${path}`)).status).toBe(400)
  })

  test('§8.1 only what existed at as_of is erased', async () => {
    const project = await service().newProject()
    const before = (await project.post('/v2/sessions', {})).body.id
    service().clock.advance(1)
    await project.post('/v2/purge-jobs', { ...ALL, mode: 'erase' })
    service().clock.advance(1)
    const after = (await project.post('/v2/sessions', {})).body.id
    await run()
    expect((await project.get(`/v2/sessions/${before}`)).status).toBe(404)
    expect((await project.get(`/v2/sessions/${after}`)).status).toBe(200)
  })

  async function receiptOf(project: Awaited<ReturnType<ReturnType<typeof service>['newProject']>>) {
    const { id } = (await project.post('/v2/purge-jobs', { ...ALL, mode: 'erase' })).body
    await run()
    return (await project.get(`/v2/purge-jobs/${id}/receipt`)).body
  }

  test('§8.1 a receipt is verified as it is and in any order, and not with one character changed', async () => {
    const project = await service().newProject()
    await project.post('/v2/sessions', {})
    service().clock.advance(1)
    const receipt = await receiptOf(project)
    const valid = async (body: unknown) => (await project.post('/v2/purge-receipts/verify', body)).body.valid
    expect(await valid(receipt)).toBe(true)
    expect(await valid(Object.fromEntries(Object.entries(receipt).reverse()))).toBe(true)
    const erased = receipt.erased.map((one: { kind: string }) => (one.kind === 'sessions' ? { ...one, count: 2 } : one))
    const { not_covered: _left_out, ...shorter } = receipt
    for (const forged of [
      { ...receipt, erased },
      { ...receipt, project_id: 'prj_other' },
      { ...receipt, digest: receipt.digest.replace(/^./, (c: string) => (c === '0' ? '1' : '0')) },
      { ...receipt, signature: '' },
      { ...receipt, added: true },
      shorter,
      {},
    ])
      expect(await valid(forged)).toBe(false)
    expect(receipt.storage.state).toBe(service().db.engine === 'sqlite' ? 'rewritten' : 'after_vacuum')
  })

  test('§11 a repeat of what was erased is 410 until its day ends, executes nothing, and is then free', async () => {
    const project = await service().newProject()
    const keyed = { 'agent-idempotency-key': 'once' }
    const ask = (): Promise<Answer> => project.post('/v2/sessions', {}, keyed)
    expect((await ask()).status).toBe(200)
    service().clock.advance(1)
    await receiptOf(project)
    const again = await service().storingNothing(ask)
    expect([again.status, again.body.error.type, again.headers['x-should-retry']]).toEqual([
      ...[410, 'invalid_request_error', 'false'],
    ])
    expect((await project.get('/v2/sessions')).body.data).toEqual([])
    service().clock.advance(24 * 3_600_000)
    expect((await ask()).status).toBe(200)
  })

  test('R78 a job whose eraser fails holds up no other project’s; it is given up in the end, and another can begin', async () => {
    const [one, two] = [await service().newProject(), await service().newProject()]
    const begun = [
      (await one.post('/v2/purge-jobs', { ...ALL, mode: 'erase' })).body.id,
      (await two.post('/v2/purge-jobs', { ...ALL, mode: 'erase' })).body.id,
    ]
    const { tampering } = service()
    tampering.rows = (statement, next) => {
      const failing = /FROM stored_response/.test(statement.text.join('?')) && statement.values.includes(one.project.id)
      return failing ? Promise.reject(new Error('this row cannot be read')) : next(statement)
    }
    await run()
    expect((await two.get(`/v2/purge-jobs/${begun[1]}`)).body.status).toBe('succeeded')
    for (let turns = 0; turns < 30; turns++) await run()
    tampering.rows = undefined
    expect((await one.get(`/v2/purge-jobs/${begun[0]}`)).body).toMatchObject({ status: 'failed' })
    await receiptOf(one)
  })

  test('§8.1 what ended jobs named and erased, and plans that nobody carried out, are swept', async () => {
    const project = await service().newProject()
    await project.post('/v2/sessions', {})
    service().clock.advance(1)
    await receiptOf(project)
    const plan = (await project.post('/v2/purge-jobs', { filter: { trace_ids: ['trc_1'] } })).body.id
    service().clock.advance(8 * 24 * 3_600_000)
    await service().housekeep('sweep purge jobs')
    await service().housekeep('sweep purge jobs')
    const [{ left } = { left: -1 }] = await service().db.rows<{ left: number }>(sql`
      SELECT (SELECT COUNT(*) FROM purge_target WHERE project_id = ${project.project.id})
        + (SELECT COUNT(*) FROM purge_erased WHERE project_id = ${project.project.id}) AS left`)
    expect(Number(left)).toBe(0)
    expect((await project.get(`/v2/purge-jobs/${plan}`)).status).toBe(404)
    expect((await project.get('/v2/purge-jobs')).body.data).toHaveLength(1)
  })
})

test('§8.1 no receipt before the contents of artifacts are gone from where they lie; and their quota is free', async () => {
  const held = new Map<string, Buffer>()
  let broken = true
  const contents: Contents = {
    write: async (id, content) => void held.set(id, Buffer.concat([...content.parts()])),
    async *read(id) {
      yield held.get(id) ?? Buffer.alloc(0)
    },
    async erase(id) {
      if (broken) throw new Error('the storage is away')
      held.delete(id)
    },
  }
  const places: ContentPlaces = { place: 'files', at: { files: contents } }
  const service = await startService({ parts: { contents: places } })
  const { id: artifact_id } = (await upload(service, 'a text that prompts share')).body
  await service.post('/v2/bundles', { items: [{ artifact_id, role: 'system' }] })
  service.clock.advance(1)
  const { id } = (await service.post('/v2/purge-jobs', { ...ALL, mode: 'erase' })).body
  await service.housekeep('run purge jobs')
  expect((await service.get(`/v2/purge-jobs/${id}`)).body.status).toBe('running')
  expect([held.size, (await service.get(`/v2/purge-jobs/${id}/receipt`)).status]).toEqual([1, 404])
  broken = false
  await service.housekeep('run purge jobs')
  expect([held.size, (await service.get(`/v2/purge-jobs/${id}/receipt`)).status]).toEqual([0, 200])
  const taken = await service.db.rows(sql`
    SELECT kind FROM project_quota WHERE (kind LIKE 'artifacts%' OR kind = 'bundles') AND present > 0`)
  expect(taken).toEqual([])
})
