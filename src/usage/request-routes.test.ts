// R80: GET /v2/requests: completed, failed and refused in one list, by every filter, page by page, at a bounded cost.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { ENGINE, withDb } from '../../test/support/databases.ts'
import { type TestProject, withService } from '../../test/support/service.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { rfc3339 } from '../core/clock.ts'
import { newTraceId } from '../core/ids.ts'
import type { RefusedCall } from '../refusals/refused-call.ts'
import { refusedCallStore } from '../refusals/refused-call-store.ts'
import type { Db, Sql } from '../storage/db.ts'
import type { ListedRequest } from './listed-request.ts'
import { requestQuestion } from './request-query.ts'
import { searchRequests, WINDOW_ROWS } from './request-search.ts'
import { requestStore } from './request-store.ts'
import type { TraceFacts } from './trace.ts'
import type { UsageEvent } from './usage-event.ts'
import { usageStore } from './usage-store.ts'

const REQUESTS = '/v2/requests'
const FAILED: TraceFacts = {
  stream: false,
  keyed: false,
  fallback_used: false,
  refusal: {
    layer: 'upstream',
    status: 502,
    type: 'server_error',
    code: 'upstream_error',
    message: "The upstream 'main' failed: CUDA out of memory.",
    headers: {},
  },
}

const refusedCall = (project_id: string, at_ms: number, more: Partial<RefusedCall> = {}): RefusedCall => ({
  trace_id: newTraceId(at_ms),
  project_id,
  key_id: 'key_1',
  kind: 'budget',
  at_ms,
  duration_ms: 3,
  endpoint: '/v1/chat/completions',
  model: 'fast',
  target: 'cluster:byc_1',
  provider: 'own',
  status: 429,
  type: 'quota_exceeded',
  code: 'quota_exceeded',
  message: "The key's budget is used up.",
  said: null,
  attempts: [],
  headers: {},
  count: 7,
  ...more,
})

async function used(db: Db, project_id: string, at_ms: number, more: Partial<UsageEvent> = {}, facts?: TraceFacts) {
  const event = usageEvent(project_id, { trace_id: newTraceId(at_ms), created_at: rfc3339(at_ms), ...more })
  await usageStore(db).insert(event, facts)
  return event.trace_id
}

withService((service) => {
  const ids = async ({ get }: Pick<TestProject, 'get'>, query = '') =>
    (await get(`${REQUESTS}?${query}`)).body.data.map(({ id }: ListedRequest) => id)

  /** Newest first: completed, refused, failed, left by its client. */
  async function four(home: TestProject) {
    const [db, project_id] = [service().db, home.project.id]
    const left = await used(db, project_id, NOON, {
      status: 'client_left',
      resolved_model: 'left',
      session_id: 'ses_1',
    })
    const failing = { status: 'failed', charged_micros: 0, ttft_ms: null, provider: 'main', alias_release_id: 'alr_1' }
    const failed = await used(db, project_id, NOON + 1, failing, FAILED)
    const refused = refusedCall(project_id, NOON + 2)
    await refusedCallStore(db).add([refused])
    const more = { key_id: 'key_2', charged_micros: 9_000, ttft_ms: 4_000, cluster_id: 'byc_1', bundle_id: 'bnd_1' }
    const completed = await used(db, project_id, NOON + 3, more)
    return { completed, refused: refused.trace_id, failed, left }
  }

  test('R80 completed, failed and refused in one list, newest first, each with its reason', async () => {
    const home = await service().newProject()
    const of = await four(home)
    const { body } = await service()
      .as(await home.keyWith('read'))
      .get(REQUESTS)
    expect(body).toMatchObject({ object: 'list', has_more: false, next: null, searched_from: null })
    expect(body.data.map(({ id, outcome, layer, count }: ListedRequest) => [id, outcome, layer, count])).toEqual([
      [of.completed, 'completed', null, 1],
      [of.refused, 'refused', 'budget', 7],
      [of.failed, 'failed', 'upstream', 1],
      [of.left, 'client_left', null, 1],
    ])
    expect(body.data[1]).toMatchObject({
      request_id: `req_${of.refused.slice(4)}`,
      http_status: 429,
      message: "The key's budget is used up.",
      requested_model: 'fast',
      resolved_model: null,
      cluster_id: 'byc_1',
      charged_micros: 0,
    })
    expect(body.data[2]).toMatchObject({ http_status: 502, code: 'upstream_error', message: FAILED.refusal?.message })
    expect(await ids(await service().newProject())).toEqual([])
  })

  test('R80 each names its key, where the project has one', async () => {
    const home = await service().newProject()
    const { id } = (await home.post('/v2/api-keys', { name: 'nightly' })).body
    await used(service().db, home.project.id, NOON, { key_id: id })
    await used(service().db, home.project.id, NOON + 1)
    const { data } = (await home.get(REQUESTS)).body
    expect(data.map(({ key_name }: ListedRequest) => key_name)).toEqual([null, 'nightly'])
  })

  test.each<[string, (keyof Awaited<ReturnType<typeof four>>)[]]>([
    ['outcome=failed,refused', ['refused', 'failed']],
    ['outcome=completed', ['completed']],
    ['layer=budget', ['refused']],
    ['layer=upstream', ['failed']],
    ['key_id=key_2', ['completed']],
    ['key_id=key_1&outcome=refused', ['refused']],
    ['model=left', ['left']],
    ['model=fast', ['completed', 'refused', 'failed', 'left']],
    ['provider=main', ['failed']],
    ['alias_release_id=alr_1', ['failed']],
    ['cluster_id=byc_1', ['completed', 'refused']],
    ['session_id=ses_1', ['left']],
    ['bundle_id=bnd_1', ['completed']],
    ['min_charged_micros=9000', ['completed']],
    ['min_ttft_ms=1000', ['completed']],
    ['error=cuda', ['failed']],
    ['error=QUOTA_exceeded', ['refused']],
    [`from=${rfc3339(NOON + 2)}`, ['completed', 'refused']],
    [`to=${rfc3339(NOON + 2)}`, ['failed', 'left']],
  ])('R80 %s', async (query, expected) => {
    const home = await service().newProject()
    const of = await four(home)
    expect(await ids(home, query)).toEqual(expected.map((name) => of[name]))
  })

  test('R80 page by page, over both kinds and over many of one millisecond: each once, in one order', async () => {
    const home = await service().newProject()
    const [db, project_id] = [service().db, home.project.id]
    for (let n = 0; n < 12; n++) await used(db, project_id, NOON + (n % 3))
    await refusedCallStore(db).add(Array.from({ length: 12 }, (_, n) => refusedCall(project_id, NOON + (n % 3))))
    const seen: string[] = []
    let next: string | null = ''
    while (next !== null) {
      const { body } = await home.get(`${REQUESTS}?limit=5${next && `&after=${next}`}`)
      seen.push(...body.data.map(({ id }: ListedRequest) => id))
      expect(body.has_more).toBe(body.next !== null)
      next = body.next
    }
    expect(new Set(seen).size).toBe(24)
    expect(seen).toEqual(await ids(home, 'limit=100'))
  })

  test('R80 what was refused a moment ago is there before it is written, and once afterwards', async () => {
    const home = await service().newProject()
    const { headers } = await home.post('/v1/chat/completions', { model: 'm' })
    const refused = [headers['agent-trace-id']]
    expect(await ids(home, 'outcome=refused&layer=validation')).toEqual(refused)
    await service().housekeep('write refusal counts')
    expect(await ids(home, 'error=messages')).toEqual(refused)
  })

  test.each([
    ['outcome=lost', 'outcome'],
    ['outcome=failed,failed', 'outcome'],
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['after=trc_1', 'after'],
    ['min_ttft_ms=-1', 'min_ttft_ms'],
    ['min_charged_micros=1.5', 'min_charged_micros'],
    ['error=%20', 'error'],
    [`error=${'x'.repeat(201)}`, 'error'],
    ['from=today', 'from'],
    ['layer=edge', 'layer'],
    ['modle=x', 'modle'],
  ])('R80 400 for ?%s, which names the parameter', async (query, field) => {
    const { status, body } = await (await service().newProject()).get(`${REQUESTS}?${query}`)
    expect([status, body.error.type]).toEqual([400, 'invalid_request_error'])
    expect(body.error.message).toContain(`'${field}'`)
  })
})

withDb((db) => {
  test('R80 a search that no index serves ends after a bounded number, and goes on from there', async () => {
    const project_id = 'prj_searched'
    const rows = 11 * WINDOW_ROWS
    await db().transaction(async (tx) => {
      const usage = usageStore(tx)
      for (let n = 0; n < rows; n++)
        await usage.insert(
          usageEvent(project_id, {
            trace_id: newTraceId(NOON + n),
            created_at: rfc3339(NOON + n),
            attempts: [],
            resolved_model: n === 0 ? 'oldest' : 'm',
          }),
        )
    })
    const { filter, below } = requestQuestion({ model: 'oldest' })
    const search = (from: typeof below) =>
      searchRequests([requestStore(db(), project_id, filter)], { below: from, from_ms: 0 }, 50)
    const first = await search(below)
    expect(first.data).toEqual([])
    expect(first.next?.at_ms).toBe(NOON + rows - 1 - 10 * (WINDOW_ROWS + 1) + 1)
    const second = await search(first.next ?? below)
    expect([second.data.length, second.next]).toEqual([1, undefined])
  })

  test.runIf(ENGINE === 'sqlite').each([
    ['everything', {}, 'usage_event_by_time'],
    ['what went wrong', { outcome: 'failed,refused' }, 'usage_event_by_failure'],
    ['an error of a layer', { layer: 'upstream' as const, error: 'x' }, 'usage_event_by_failure'],
    ['a key', { key_id: 'key_1', error: 'x' }, 'usage_event_by_key'],
    ['a session', { session_id: 'ses_1', outcome: 'failed' }, 'usage_event_by_session'],
    ['a bundle', { bundle_id: 'bnd_1' }, 'usage_event_by_bundle'],
    ['a cluster', { cluster_id: 'byc_1' }, 'usage_event_by_(cluster|time)'],
  ])('R80 %s comes by an index, in the order of time', async (_case, query, index) => {
    const asked: Sql[] = []
    const watched = { ...db(), rows: <R>(statement: Sql) => db().rows<R>(asked[asked.push(statement) - 1] as Sql) }
    const source = requestStore(watched, 'prj_1', requestQuestion(query).filter)
    await source.windowFrom({ at_ms: NOON, trace_id: 'trc_x' }, 0)
    await source.read({ below: { at_ms: NOON, trace_id: 'trc_x' }, from_ms: 0 }, 50)
    for (const { text, values } of asked) {
      const [first = '', ...rest] = text
      const plan = await db().rows<{ detail: string }>({ text: [`EXPLAIN QUERY PLAN ${first}`, ...rest], values })
      expect(plan.map(({ detail }) => detail).join('; ')).toMatch(
        new RegExp(
          `^SEARCH e USING (COVERING )?INDEX ${index} .*created_ms[^;]*(; USE TEMP B-TREE FOR LAST TERM OF ORDER BY)?$`,
        ),
      )
    }
  })
})
