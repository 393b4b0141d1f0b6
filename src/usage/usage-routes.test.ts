// §8.2.3: GET /v2/usage, by status.
import { expect, test } from 'vitest'
import { type Answer, type TestProject, withService } from '../../test/support/service.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { DAY_MS, rfc3339 } from '../core/clock.ts'
import { BATCH_ROWS } from '../storage/batches.ts'
import type { UsageEvent } from './usage-event.ts'
import { usageStore } from './usage-store.ts'

const USAGE = '/v2/usage'
const identity = ({ status, body }: Answer) => [status, body.error?.type, body.error?.code]

withService((service) => {
  async function used({ project }: TestProject, ...events: Partial<UsageEvent>[]): Promise<UsageEvent[]> {
    const made = events.map((more) => usageEvent(project.id, more))
    for (const event of made) await usageStore(service().db).insert(event)
    return made.map((event) => JSON.parse(JSON.stringify(event)))
  }

  test('§8.2.3 200: events in the list envelope, for a key that may read', async () => {
    const home = await service().newProject()
    const [event] = await used(home, { cluster_id: 'byc_1', ttft_ms: null })
    const { get } = service().as(await home.keyWith('read'))
    expect((await get(USAGE)).body).toEqual({ object: 'list', data: [event], has_more: false })
    expect((await get(`${USAGE}?trace_id=${event?.trace_id}&status=completed`)).body.data).toEqual([event])
    expect((await get(`${USAGE}?trace_id=${event?.trace_id}&status=failed`)).body.data).toEqual([])
    expect((await get(`${USAGE}?model=none`)).body.data).toEqual([])
    expect((await (await service().newProject()).get(USAGE)).body.data).toEqual([])
  })

  test('R80 200: a trace of a generation, with tags and without', async () => {
    const home = await service().newProject()
    const [plain, tagged] = await used(home, {}, { tags: { team: 'search' } })
    for (const event of [plain, tagged]) {
      const { status, body } = await home.get(`/v2/traces/${event?.trace_id}`)
      expect([status, body.usage.tags]).toEqual([200, event?.tags])
    }
  })

  test('R70 200: a page of more than a batch is whole, in order, and says whether there is more', async () => {
    const home = await service().newProject()
    const many = 2 * BATCH_ROWS + 30
    const made = await used(
      home,
      ...Array.from({ length: many }, (_, n) => ({ created_at: rfc3339(Date.parse('2026-11-15T00:00:00Z') + n) })),
    )
    const newest = made.map(({ trace_id }) => trace_id).reverse()
    const page = async (query: string) => {
      const { data, has_more } = (await home.get(`${USAGE}?${query}`)).body
      return [data.map((event: UsageEvent) => event.trace_id), has_more]
    }
    expect(await page(`limit=${BATCH_ROWS}`)).toEqual([newest.slice(0, BATCH_ROWS), true])
    expect(await page(`limit=${many - 1}`)).toEqual([newest.slice(0, -1), true])
    expect(await page(`limit=${many}`)).toEqual([newest, false])
    expect(await page(`limit=10000&after=${newest[4]}`)).toEqual([newest.slice(5), false])
    expect(await page(`limit=210&before=${newest.at(-1)}`)).toEqual([newest.slice(many - 211, -1), true])
    expect(await page(`before=${newest.at(-1)}`)).toEqual([newest.slice(0, -1), false])
  })

  test('§8.2.3 200: added up by what is asked for', async () => {
    const home = await service().newProject()
    await used(home, {}, { resolved_model: 'other' }, {})
    const { data, has_more } = (await home.get(`${USAGE}?group_by=model,day`)).body
    expect(has_more).toBe(false)
    expect(data).toEqual([
      expect.objectContaining({
        object: 'usage_group',
        day: '2026-11-15',
        model: 'gpt-4o',
        events: 2,
        charged_micros: 600,
      }),
      expect.objectContaining({
        object: 'usage_group',
        day: '2026-11-15',
        model: 'other',
        events: 1,
        savings_micros: 150,
      }),
    ])
    expect(data[0]).not.toHaveProperty('key_id')
  })

  test('§8.2.3 200: as a table, where that is preferred', async () => {
    const home = await service().newProject()
    const [event] = await used(home, { requested_model: '=cmd|calc,"x"' })
    const csv = await home.get(USAGE, { accept: 'text/csv, */*;q=0.5' })
    expect(csv.headers['content-type']).toBe('text/csv; charset=utf-8; header=present')
    expect([csv.headers.vary, csv.headers['content-disposition']]).toEqual([
      'accept',
      'attachment; filename="usage.csv"',
    ])
    const lines = csv.bytes.toString().split('\r\n')
    expect(lines).toHaveLength(3)
    expect(lines[1]).toContain(`${event?.trace_id},${home.project.id},key_1,`)
    expect(lines[1]).toContain(`,"'=cmd|calc,""x""",gpt-4o,`)
    const grouped = await home.get(`${USAGE}?group_by=provider`, { accept: 'text/csv' })
    expect(grouped.bytes.toString()).toMatch(
      /^provider,events,input_tokens,.*\r\nopenai,1,100,60,10,20,5,80,20,300,450,150,0,0,0\r\n$/,
    )
    expect((await home.get(USAGE, { accept: 'application/json, text/csv' })).headers['content-type']).toContain('json')
  })

  test('R70 200: without a limit all events come, as JSON and as a table, in one page that has no more', async () => {
    const home = await service().newProject()
    const made = await used(home, ...Array.from({ length: 2 * BATCH_ROWS + 1 }, () => ({})))
    const newestFirst = made.map(({ trace_id }) => trace_id).reverse()
    const { body } = await home.get(USAGE)
    expect([body.object, body.has_more]).toEqual(['list', false])
    expect(body.data.map(({ id }: UsageEvent) => id)).toEqual(newestFirst)
    expect(body.data[0]).toEqual(made.at(-1))
    const csv = (await home.get(USAGE, { accept: 'text/csv' })).bytes.toString().split('\r\n')
    expect(csv.slice(1, -1).map((line) => line.split(',')[0])).toEqual(newestFirst)
    const rest = (await home.get(`${USAGE}?after=${newestFirst[9]}`)).body
    expect([rest.data.map(({ id }: UsageEvent) => id), rest.has_more]).toEqual([newestFirst.slice(10), false])
  })

  test('R70 200: groups by day over months are all there, the latest day first', async () => {
    const home = await service().newProject()
    const days = Array.from({ length: 40 }, (_, n) => rfc3339(Date.parse('2026-11-15T00:00:00Z') - n * DAY_MS))
    await used(home, ...days.flatMap((created_at) => [{ created_at }, { created_at, key_id: 'key_2' }]))
    const { data, has_more } = (await home.get(`${USAGE}?group_by=day,key_id`)).body
    expect([data.length, has_more]).toEqual([80, false])
    expect(data.map(({ day }: { day: string }) => day)).toEqual(
      days.flatMap((at) => [at.slice(0, 10), at.slice(0, 10)]),
    )
    const some = `${USAGE}?group_by=day&from=${days[20]}&to=${days[3]}`
    expect((await home.get(some)).body.data).toHaveLength(17)
    expect((await home.get(`${some}&status=completed`)).body.data).toHaveLength(17)
    expect((await home.get(`${some}&limit=3`)).body).toMatchObject({ has_more: true })
  })

  test('R10 200: pages of events by cursor, each event once, and has_more says whether there are more', async () => {
    const home = await service().newProject()
    const made = await used(home, ...Array.from({ length: 7 }, () => ({}))) // all within one millisecond
    const newestFirst = made.map(({ trace_id }) => trace_id).reverse()
    const page = async (query: string) => {
      const { data, has_more } = (await home.get(`${USAGE}?limit=3${query}`)).body
      return { ids: data.map(({ id }: UsageEvent) => id), has_more }
    }
    expect(await page('')).toEqual({ ids: newestFirst.slice(0, 3), has_more: true })
    expect(await page(`&after=${newestFirst[2]}`)).toEqual({ ids: newestFirst.slice(3, 6), has_more: true })
    expect(await page(`&after=${newestFirst[5]}`)).toEqual({ ids: newestFirst.slice(6), has_more: false })
    expect(await page(`&after=${newestFirst[6]}`)).toEqual({ ids: [], has_more: false })
    expect(await page(`&before=${newestFirst[6]}`)).toEqual({ ids: newestFirst.slice(3, 6), has_more: true })
    expect(await page(`&before=${newestFirst[3]}`)).toEqual({ ids: newestFirst.slice(0, 3), has_more: false })
    expect((await home.get(USAGE)).body.has_more).toBe(false)
    const [stranger] = await used(await service().newProject(), {})
    for (const wrong of [`after=${stranger?.id}`, 'before=trc_none'])
      expect((await home.get(`${USAGE}?${wrong}`)).body.error.message).toContain('trace id of a usage event')
  })

  test('§8.2.3 200: a timeline, also of a project without usage', async () => {
    const home = await service().newProject()
    await used(home, {}, { status: 'client_left', ttft_ms: null })
    const { get } = service().as(await home.keyWith('read'))
    const range = 'from=2026-11-15T00:00:00Z&to=2026-11-16T00:00:00Z'
    const { data } = (await get(`${USAGE}/timeline?${range}`)).body
    expect(data).toHaveLength(24)
    expect(data[0]).toMatchObject({
      object: 'usage_step',
      start: '2026-11-15T00:00:00.000Z',
      requests: 0,
      by_status: {},
    })
    const [step] = data.filter(({ requests }: { requests: number }) => requests > 0)
    expect(step).toMatchObject({ requests: 2, errors: 1, by_status: { completed: 1, client_left: 1 } })
    expect([step.charged_micros, step.ttft_p95_ms > 200]).toEqual([600, true])
  })

  test('§8.2.3 200: the timeline and outcomes have the filters of usage, replays among them', async () => {
    const home = await service().newProject()
    await used(home, {})
    const range = 'from=2026-11-15T00:00:00Z&to=2026-11-16T00:00:00Z'
    const requests = async (path: string, replays: string) =>
      (await home.get(`${USAGE}/${path}&${range}&replays=${replays}`)).body.data.reduce(
        (sum: number, one: { requests: number }) => sum + one.requests,
        0,
      )
    for (const path of ['timeline?step=hour', 'outcomes?group_by=profile&name=managed_provider'])
      expect([await requests(path, 'exclude'), await requests(path, 'only')]).toEqual([1, 0])
  })

  test.each([
    ['', 'from'],
    ['from=2026-11-15T00:00:00Z', 'to'],
    ['from=2026-11-15T00:00:00Z&to=2026-11-15T00:00:00Z', 'to'],
    ['from=2026-11-15T00:00:00Z&to=2026-11-16T00:00:00Z&step=week', 'step'],
    ['from=2026-11-01T00:00:00Z&to=2026-11-15T00:00:00Z&step=minute', 'step'],
    ['from=0001-01-01T00:00:00Z&to=9999-01-01T00:00:00Z&step=day', 'step'],
    ['from=2026-11-01T00:00:00Z&to=2026-11-15T00:00:00Z&key_id=a&model=b', 'step'],
    ['from=2026-11-01T00:00:00Z&to=2026-11-15T00:00:00Z&replays=only&model=b', 'step'],
    ['from=2026-11-15T00:00:00Z&to=2026-11-16T00:00:00Z&replays=no', 'replays'],
    ['from=2026-11-15T00:00:00Z&to=2026-11-16T00:00:00Z&model=%00', 'model'],
    ['from=2026-11-15T00:00:00Z&to=2026-11-16T00:00:00Z&modle=a', 'modle'],
    ['from=2026-11-01T00:00:00Z&to=2026-11-16T00:00:00Z&status=failed', 'status'],
  ])('R9 400 on timeline?%s, naming it', async (query, field) => {
    const { get } = await service().newProject()
    const answer = await get(`${USAGE}/timeline?${query}`)
    expect(identity(answer)).toEqual([400, 'invalid_request_error', undefined])
    expect(answer.body.error.message).toContain(`'${field}'`)
  })

  test.each([
    ['from=yesterday', 'from'],
    ['to=2026-11-15', 'to'],
    ['from=2026-02-30T00:00:00Z', 'from'],
    ['from=2026-11-16T00:00:00Z&to=2026-11-15T00:00:00Z', 'from'],
    ['modle=gpt-4o', 'modle'],
    ['group_by=day&constructor=x', 'constructor'],
    ['status=finished', 'status'],
    ['limit=0', 'limit'],
    ['limit=10001', 'limit'],
    ['limit=ten', 'limit'],
    ['group_by=', 'group_by'],
    ['group_by=mood', 'group_by'],
    ['group_by=day,mood', 'group_by'],
    ['group_by=day,day', 'group_by'],
    ['group_by=day;DROP TABLE usage_event', 'group_by'],
    ['model=a&model=b', 'model'],
    ['model=%00', 'model'],
    ['after=', 'after'],
    ['after=trc_none', 'after'],
    ['after=trc_a&before=trc_b', 'before'],
    ['after=trc_a&group_by=day', 'after'],
    ['before=%00', 'before'],
  ])('R9 400 on ?%s, naming it', async (query, field) => {
    const { get } = await service().newProject()
    for (const headers of [{}, { accept: 'text/csv' }]) {
      const answer = await get(`${USAGE}?${query}`, headers)
      expect(identity(answer)).toEqual([400, 'invalid_request_error', undefined])
      expect(answer.body.error.message).toContain(`'${field}'`)
    }
  })

  test.each(['POST', 'PUT', 'DELETE'])('§8.2.3 405 on %s: events are immutable', async (method) => {
    const { send } = await service().newProject()
    expect((await send(method, USAGE, method === 'DELETE' ? {} : { body: {} })).status).toBe(405)
  })
})
