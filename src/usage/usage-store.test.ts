// §8.2.3: usage at rest, on whichever engine this run is for.
import { expect, test } from 'vitest'
import { allOf } from '../../test/support/batches.ts'
import { NOON } from '../../test/support/clock.ts'
import { ENGINE, withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { DAY_MS, HOUR_MS, rfc3339 } from '../core/clock.ts'
import type { Sql } from '../storage/db.ts'
import type { UsageEvent } from './usage-event.ts'
import type { From } from './usage-list-store.ts'
import { GROUPS, usageQuestion } from './usage-query.ts'
import type { EventPlace } from './usage-rows.ts'
import { usageStore } from './usage-store.ts'

withDb((db) => {
  const store = () => usageStore(db())
  const ask = usageQuestion

  async function used(...events: (Partial<UsageEvent> & { hours?: number })[]): Promise<string> {
    const project_id = await projectIn(db())
    for (const { hours = 0, ...more } of events)
      await store().insert(usageEvent(project_id, { created_at: rfc3339(NOON + hours * HOUR_MS), ...more }))
    return project_id
  }

  const traces = async (project_id: string, query: Parameters<typeof usageQuestion>[0]) =>
    (await store().list(project_id, ask(query))).data.map((event) => event.trace_id)

  test('§8.2.3 an event comes back as it went in', async () => {
    const project_id = await projectIn(db())
    const event = usageEvent(project_id, { cluster_id: 'byc_1', session_id: 'ses_1', ttft_ms: null, attempts: [] })
    await store().insert(event)
    expect((await store().list(project_id, ask({}))).data).toEqual([event])
    expect(await store().find(project_id, event.trace_id)).toEqual(event)
    const tried = usageEvent(project_id)
    await store().insert(tried)
    expect((await store().find(project_id, tried.trace_id))?.attempts).toEqual(
      JSON.parse(JSON.stringify(tried.attempts)),
    )
  })

  test('R43 a second event under one trace id fails, and undoes the settling that it came with', async () => {
    const project_id = await used({ trace_id: 'trc_once' })
    const settling = db().transaction(async (tx) => {
      await usageStore(tx).insert(usageEvent(project_id))
      await usageStore(tx).insert(usageEvent(project_id, { trace_id: 'trc_once', charged_micros: 999 }))
    })
    await expect(settling).rejects.toThrow()
    expect((await store().list(project_id, ask({}))).data.map((event) => event.charged_micros)).toEqual([300])
  })

  test('R11 newest first, and no more than asked for', async () => {
    const names = ['a', 'b', 'c', 'd'].map((name) => `trc_${Math.abs(NOON)}_${name}`)
    const project_id = await used(...[2, 0, 3, 1].map((hours, at) => ({ hours, trace_id: names[at] as string })))
    expect(await traces(project_id, {})).toEqual([names[2], names[0], names[3], names[1]])
    expect(await traces(project_id, { limit: '2' })).toEqual([names[2], names[0]])
  })

  // Without statistics SQLite chooses by rules, and a page that reads the whole project looks the same as one that does not.
  test.runIf(ENGINE === 'sqlite').each([
    ['a page of a project', {}, 'usage_event_by_time'],
    ['a page of a key', { key_id: 'key_1' }, 'usage_event_by_key'],
    ['a page of a session', { session_id: 'ses_1' }, 'usage_event_by_session'],
    ['a page of a key and a model', { key_id: 'key_1', model: 'm' }, 'usage_event_by_key'],
  ])('R11 %s comes by the index that is made for it, in its order', async (_case, query, index) => {
    const asked: Sql[] = []
    const watched = { ...db(), rows: <R>(statement: Sql) => db().rows<R>(asked[asked.push(statement) - 1] as Sql) }
    const place = { created_ms: NOON, sequence: 1, trace_id: 'trc_x' }
    for (const from of [{}, { after: place }, { before: place }])
      await usageStore(watched).list('prj_1', ask(query), from)
    for (const { text, values } of asked) {
      const [first = '', ...rest] = text
      const plan = await db().rows<{ detail: string }>({ text: [`EXPLAIN QUERY PLAN ${first}`, ...rest], values })
      expect(plan.map(({ detail }) => detail).join('; ')).toMatch(
        new RegExp(`^SEARCH e USING (COVERING )?INDEX ${index} .*created_ms[^;]*(; USE TEMP B-TREE FOR LAST TERM.*)?$`),
      )
    }
  })

  test('R78 what no index finds is looked for in windows, forth and back, and nothing is left out', async () => {
    const project_id = await projectIn(db())
    const rare = [0, 1, 1_999, 2_000, 2_001, 3_500, 4_499] // the newest 2,001 have two of them
    const ids = rare.map((n) => `trc_${project_id}_${String(n).padStart(4, '0')}`)
    await db().transaction(async (tx) => {
      for (let n = 0; n < 4_500; n++)
        await usageStore(tx).insert(
          usageEvent(project_id, {
            trace_id: `trc_${project_id}_${String(n).padStart(4, '0')}`,
            created_at: rfc3339(NOON + n),
            resolved_model: rare.includes(n) ? 'rare' : 'usual',
          }),
        )
    })
    let asked = 0
    const rows = <R>(statement: Sql) => {
      asked++
      return db().rows<R>(statement)
    }
    const on = usageStore({ ...db(), rows })
    const { filter } = ask({ model: 'rare' })
    const found = (await allOf(on.listAll(project_id, filter))).map(({ trace_id }) => trace_id)
    expect(found).toEqual(ids.toReversed())
    expect(asked).toBeGreaterThanOrEqual(6) // the ends of three windows, and what is in them
    expect(await on.traceIds(project_id, filter, 3)).toEqual(ids.slice(-3).reverse())
    const page = async (from: From, limit: number) => {
      const { data, has_more } = await on.list(project_id, { filter, limit }, from)
      return [data.map(({ trace_id }) => ids.indexOf(trace_id)), has_more]
    }
    const placeOf = async (at: number) => (await on.place(project_id, ids[at] as string)) as EventPlace
    expect(await page({ after: await placeOf(4) }, 3)).toEqual([[3, 2, 1], true])
    expect(await page({ after: await placeOf(3) }, 3)).toEqual([[2, 1, 0], false])
    expect(await page({ before: await placeOf(0) }, 4)).toEqual([[4, 3, 2, 1], true])
    expect(await page({ before: await placeOf(2) }, 4)).toEqual([[6, 5, 4, 3], false])
    expect(await allOf(on.listAll(project_id, ask({ model: 'none' }).filter))).toEqual([])
    asked = 0
    expect((await on.list(project_id, { filter, limit: 1 })).data).toHaveLength(1)
    expect(asked).toBe(2) // the end of one window, and what is in it
    asked = 0
    const sums = (await on.grouped(project_id, ask({ status: 'completed', group_by: 'model,day' }))).data
    expect(sums.map(({ model, events, charged_micros }) => [model, events, charged_micros])).toEqual([
      ['usual', 4_493, 4_493 * 300],
      ['rare', 7, 7 * 300],
    ])
    expect(asked).toBeGreaterThanOrEqual(6)
  })

  test('§8.2.3 from is inclusive, to is not, in whichever zone they are written', async () => {
    const project_id = await used({ hours: 0, trace_id: 'trc_t0' }, { hours: 1, trace_id: 'trc_t1' })
    const [noon, one] = [rfc3339(NOON), rfc3339(NOON + HOUR_MS)]
    expect(await traces(project_id, { from: noon, to: one })).toEqual(['trc_t0'])
    expect(await traces(project_id, { from: '2026-11-15T15:00:00+02:00' })).toEqual(['trc_t1'])
    expect(await traces(project_id, { to: noon })).toEqual([])
  })

  const LEFT = {
    key_id: 'key_left',
    resolved_model: 'm_left',
    provider: 'p_left',
    profile: 'byok',
    cluster_id: 'byc_left',
    session_id: 'ses_left',
  }

  test.each([
    ['key_id', 'key_left'],
    ['model', 'm_left'],
    ['provider', 'p_left'],
    ['profile', 'byok'],
    ['cluster_id', 'byc_left'],
    ['session_id', 'ses_left'],
  ])('§8.2.3 %s=%s finds what it names, in lists, in groups, and together with a trace id', async (filter, value) => {
    const project_id = await used(LEFT, {})
    const [left, right] = (await store().list(project_id, ask({}))).data.sort((a) => (a.key_id === 'key_left' ? -1 : 1))
    const query = { [filter]: value }
    expect(await traces(project_id, query)).toEqual([left?.trace_id])
    expect(await traces(project_id, { ...query, trace_id: left!.trace_id })).toEqual([left?.trace_id])
    expect(await traces(project_id, { ...query, trace_id: right!.trace_id })).toEqual([])
    expect(await traces(project_id, { [filter]: "' OR '1'='1" })).toEqual([])
    const [group, ...more] = (await store().grouped(project_id, ask({ ...query, group_by: 'key_id' }))).data
    expect([group?.key_id, group?.events, more]).toEqual(['key_left', 1, []])
  })

  test('§8.2.3 a trace id finds one event, within the times asked for', async () => {
    const project_id = await used({ trace_id: 'trc_mine' }, {})
    expect(await traces(project_id, { trace_id: 'trc_mine' })).toEqual(['trc_mine'])
    expect(await traces(project_id, { trace_id: 'trc_mine', to: rfc3339(NOON) })).toEqual([])
    expect(await traces(project_id, { trace_id: 'trc_mine', from: rfc3339(NOON + 1) })).toEqual([])
    const [group] = (await store().grouped(project_id, ask({ trace_id: 'trc_mine', group_by: 'day' }))).data
    expect(group?.events).toBe(1)
  })

  test('§8.2.3 grouped by day: the latest first, each figure the sum of its events', async () => {
    const project_id = await used({}, { hours: 1, charged_micros: 1_000 }, { hours: 24, input_tokens: 7 })
    const groups = (await store().grouped(project_id, ask({ group_by: 'day' }))).data
    expect(groups).toEqual([
      {
        object: 'usage_group',
        day: '2026-11-16',
        events: 1,
        input_tokens: 7,
        cached_tokens: 60,
        written_tokens: 10,
        output_tokens: 20,
        reasoning_tokens: 5,
        repeated_tokens_est: 80,
        missed_reuse_tokens: 20,
        charged_micros: 300,
        direct_cost_micros: 450,
        savings_micros: 150,
        written_off_micros: 0,
        overage_micros: 0,
        waived_micros: 0,
      },
      expect.objectContaining({ day: '2026-11-15', events: 2, input_tokens: 200, charged_micros: 1_300 }),
    ])
  })

  test('§8.2.3 grouped by several: the dearest first within a day; no cluster is null', async () => {
    const project_id = await used(
      { resolved_model: 'cheap', charged_micros: 1 },
      { resolved_model: 'dear', charged_micros: 9, cluster_id: 'byc_1' },
      { resolved_model: 'dear', charged_micros: 2 },
      { resolved_model: 'cheap', charged_micros: 1, hours: 24 },
    )
    const groups = (await store().grouped(project_id, ask({ group_by: 'cluster_id,day,model' }))).data
    expect(
      groups.map(({ day, model, cluster_id, charged_micros }) => [day, model, cluster_id, charged_micros]),
    ).toEqual([
      ['2026-11-16', 'cheap', null, 1],
      ['2026-11-15', 'dear', 'byc_1', 9],
      ['2026-11-15', 'dear', null, 2],
      ['2026-11-15', 'cheap', null, 1],
    ])
    const first = await store().grouped(project_id, ask({ group_by: 'day,model', limit: '1' }))
    expect([first.data.length, first.has_more]).toEqual([1, true])
  })

  test('R43 whatever the grouping, the sums are those of all events', async () => {
    const events = Array.from({ length: 60 }, (_, n) => ({
      hours: n * 5,
      key_id: `key_${n % 3}`,
      resolved_model: `m${n % 4}`,
      provider: `p${n % 2}`,
      profile: n % 5 ? 'byok' : 'byoc_native',
      cluster_id: n % 7 ? null : `byc_${n}`,
      charged_micros: n * n,
    }))
    const project_id = await used(...events)
    const total = events.reduce((sum, event) => sum + event.charged_micros, 0)
    for (let mask = 1; mask < 2 ** GROUPS.length; mask++) {
      const names = GROUPS.filter((_, at) => mask & (2 ** at))
      const groups = (await store().grouped(project_id, ask({ group_by: names.join(',') }))).data
      const keys = groups.map((group) => JSON.stringify(names.map((name) => group[name])))
      expect(new Set(keys).size).toBe(groups.length)
      expect(groups.reduce((sum, group) => sum + group.charged_micros, 0)).toBe(total)
      expect(groups.reduce((sum, group) => sum + group.events, 0)).toBe(60)
      for (const group of groups) expect(GROUPS.filter((name) => name in group)).toEqual(names)
    }
  })

  test('§5.8 another project sees nothing of it', async () => {
    const project_id = await used({ trace_id: 'trc_theirs' })
    const stranger = await projectIn(db())
    expect((await store().list(stranger, ask({}))).data).toEqual([])
    expect(await traces(stranger, { trace_id: 'trc_theirs' })).toEqual([])
    expect((await store().grouped(stranger, ask({ group_by: 'day' }))).data).toEqual([])
    expect(await traces(project_id, { from: rfc3339(NOON - DAY_MS) })).toEqual(['trc_theirs'])
  })
})
