// GET /v2/refusals, by status: what was refused is there at once, by kind, and stays when it was written.
import { expect, test } from 'vitest'
import { newPerson, watched } from '../../test/support/browser.ts'
import { startLimited } from '../../test/support/limit-scene.ts'
import { type TestProject, withService } from '../../test/support/service.ts'
import { SECOND_MS } from '../core/clock.ts'
import { sql } from '../storage/db.ts'

const REFUSALS = '/v2/refusals'
const KEYS = '/v2/api-keys'

const totalsOf = async ({ get }: Pick<TestProject, 'get'>) => {
  const { totals } = (await get(REFUSALS)).body
  return Object.fromEntries(Object.entries(totals).filter(([, count]) => count !== 0))
}

withService((service) => {
  test('§7 each kind once, before and after it was written; nothing of it is another project’s', async () => {
    const home = await service().newProject()
    const reader = service().as(await home.keyWith('read'))
    await reader.post(KEYS, { name: 'x' }) // 403
    await home.post(KEYS, { name: '' }) // 400
    await home.send('POST', KEYS, { payload: '{' }) // 400, before any handler
    await home.send('POST', KEYS, { payload: 'x', headers: { 'content-type': 'text/plain' } }) // 415
    await home.post(KEYS, { name: 'x' }, { 'agent-idempotency-key': 'ü' }) // 400
    await home.get('/v2/byoc/clusters/byc_none') // 404
    await service().as('svc_live_wrong').get(KEYS) // 401: nobody's
    const expected = { scope: 1, validation: 4, not_found: 1 }
    expect(await totalsOf(home)).toEqual(expected)
    await service().housekeep('write refusal counts')
    expect(await totalsOf(home)).toEqual(expected)
    await service().housekeep('write refusal counts')
    expect(await totalsOf(home)).toEqual(expected)
    expect(await totalsOf(await service().newProject())).toEqual({})
    const rows = await service().db.rows(sql`SELECT kind FROM refusal_count WHERE project_id = ${home.project.id}`)
    expect(rows).toHaveLength(3)
  })

  test('the refusal itself writes nothing: counting stays off the path', async () => {
    const home = await service().newProject()
    expect((await service().storingNothing(() => home.post(KEYS, { name: '' }))).status).toBe(400)
  })

  test('another process sees them once they are written', async () => {
    const home = await service().newProject()
    const other = await service().startProcess('another')
    await home.post(KEYS, { name: '' })
    const theirs = other.as(home.key)
    expect(await totalsOf(theirs)).toEqual({})
    await service().housekeep('write refusal counts')
    expect(await totalsOf(theirs)).toEqual({ validation: 1 })
  })

  test.each(['from=now', 'to=x', 'step=minute', 'from=2026-11-15T12:00:00Z&to=2026-11-15T11:00:00Z'])(
    '400 on ?%s, naming the field',
    async (query) => {
      const { get } = await service().newProject()
      const { status, body } = await get(`${REFUSALS}?${query}`)
      expect([status, body.error.type]).toEqual([400, 'invalid_request_error'])
      expect(body.error.message).toContain(`'${query.split('=')[0]}'`)
    },
  )
})

const { mails, options } = watched()

withService((service) => {
  test('what somebody looks up in vain is no refusal of the project; what they change or ask for is', async () => {
    const person = await newPerson(service(), mails)
    expect((await person.get(`${KEYS}/key_none`)).status).toBe(404)
    expect((await person.get('/v2/byoc/clusters/byc_none')).status).toBe(404)
    expect((await person.get(`${REFUSALS}?step=minute`)).status).toBe(400)
    expect(await totalsOf(person)).toEqual({})
    expect((await person.post(KEYS, { name: '' })).status).toBe(400)
    expect(await totalsOf(person)).toEqual({ validation: 1 })
  })
}, options)

test('§8.1 the limits of key and project, told apart', async () => {
  const limits = { key: { requests_per_minute: 3 }, project: { requests_per_minute: 4 } }
  const { get, keyWith, as, clock } = await startLimited(limits)
  const other = as(await keyWith('read'))
  const statuses = []
  for (let n = 0; n < 5; n++) statuses.push((await get(KEYS)).status)
  for (let n = 0; n < 2; n++) statuses.push((await other.get(KEYS)).status)
  expect(statuses).toEqual([200, 200, 200, 429, 429, 200, 429])
  clock.advance(61 * SECOND_MS)
  expect(await totalsOf({ get })).toEqual({ key_limit: 2, project_limit: 1 })
})

test('§8.1 what the edge refuses is nobody’s: it is in the metrics only', async () => {
  const { get, clock, counted } = await startLimited({ edge: { read_per_minute: 2 } })
  const statuses = []
  for (let n = 0; n < 3; n++) statuses.push((await get(KEYS)).status)
  expect(statuses).toEqual([200, 200, 429])
  clock.advance(61 * SECOND_MS)
  expect(await totalsOf({ get })).toEqual({})
  expect(await counted('switchyard_limit_refusals_total')).toEqual({ 'edge read_per_minute': 1 })
})
