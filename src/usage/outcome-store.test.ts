// GET /v2/usage/outcomes against what the events say, out of events and out of roll-ups.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { turnsDuring } from '../../test/support/turns.ts'
import { rollEverything } from '../../test/support/usage-answers.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { countingEvents, insertAll, WINDOW_MOST } from '../../test/support/usage-windows.ts'
import { DAY_MS, HOUR_MS, rfc3339 } from '../core/clock.ts'
import { type Db, type Sql, sql } from '../storage/db.ts'
import { outcomeStore } from './outcome-store.ts'
import { outcomeQuestion } from './usage-outcomes.ts'
import { usageStore } from './usage-store.ts'

const RANGE = { from: rfc3339(NOON), to: rfc3339(NOON + 3 * DAY_MS) }

withDb((db) => {
  const ask = (project_id: string, query: Parameters<typeof outcomeQuestion>[0]) =>
    outcomeStore(db()).outcomes(project_id, outcomeQuestion({ ...RANGE, ...query }))

  /** One of `busy` in ten hours fails, every second of `flaky`, none of `calm`; each of `calm` was left by its client. */
  async function used(): Promise<string> {
    const project_id = await projectIn(db())
    const models = {
      busy: { times: 60, status: (n: number) => (n % 10 ? 'completed' : 'failed'), duration_ms: 100 },
      flaky: { times: 30, status: (n: number) => (n % 2 ? 'completed' : 'upstream_failed'), duration_ms: 2_000 },
      calm: { times: 10, status: () => 'client_left', duration_ms: 7 },
    }
    for (const [resolved_model, { times, status, duration_ms }] of Object.entries(models))
      for (let n = 0; n < times; n++)
        await usageStore(db()).insert(
          usageEvent(project_id, {
            created_at: rfc3339(NOON + n * HOUR_MS),
            resolved_model,
            status: status(n),
            duration_ms,
            ttft_ms: null,
          }),
        )
    return project_id
  }

  test('R78 what only events tell is added up in windows, and nothing is left out or told twice', async () => {
    const project_id = await projectIn(db())
    const EVENTS = 4_500
    await db().transaction(async (tx) => {
      for (let n = 0; n < EVENTS; n++)
        await usageStore(tx).insert(
          usageEvent(project_id, {
            created_at: rfc3339(NOON + Math.floor(n / 3)),
            key_id: n % 10 === 0 ? 'key_rare' : 'key_usual',
            resolved_model: 'm',
            status: n % 2 ? 'completed' : 'client_left',
          }),
        )
    })
    let asked = 0
    const rows = <R>(statement: Sql) => {
      asked++
      return db().rows<R>(statement)
    }
    const told = async (query: Parameters<typeof outcomeQuestion>[0]) => {
      const question = outcomeQuestion({ ...RANGE, status: 'client_left', ...query })
      return (await outcomeStore({ ...db(), rows }).outcomes(project_id, question)).map((one) => [
        ...[one.name, one.requests, one.by_status],
      ])
    }
    expect(await told({ group_by: 'model', name: 'm' })).toEqual([['m', EVENTS / 2, { client_left: EVENTS / 2 }]])
    expect(asked).toBeGreaterThanOrEqual(1 + 2 * 3) // who failed most; of three windows the end, and what is in it
    const RARE = EVENTS / 10
    const keys = { group_by: 'key_id', name: ['key_rare', 'key_usual', 'key_none'] }
    expect((await told(keys)).toSorted()).toEqual([
      ['key_rare', RARE, { client_left: RARE }],
      ['key_usual', EVENTS / 2 - RARE, { client_left: EVENTS / 2 - RARE }],
    ])
    expect(await told({ ...keys, key_id: 'key_rare' })).toEqual([['key_rare', RARE, { client_left: RARE }]])
  })

  test('R78 what failed most is found in windows of what failed, whatever else is asked for', async () => {
    const project_id = await projectIn(db())
    const EVENTS = 4_700
    const statusOf = (n: number) => (n % 11 === 0 ? 'client_left' : 'upstream_failed')
    const events = Array.from({ length: EVENTS }, (_, n) =>
      usageEvent(project_id, {
        created_at: rfc3339(NOON + Math.floor(n / 3)),
        key_id: `key_${n % 5 === 0 ? 'worst' : n % 3}`,
        resolved_model: n % 2 ? 'm1' : 'm0',
        status: statusOf(n),
      }),
    )
    await insertAll(db(), events)
    await rollEverything(db())
    const failed = events.filter(({ status }) => status === 'upstream_failed')
    for (const [query, of] of [
      [{}, failed],
      [{ model: 'm1' }, failed.filter(({ resolved_model }) => resolved_model === 'm1')],
      [{ key_id: 'key_worst' }, failed.filter(({ key_id }) => key_id === 'key_worst')],
    ] as const) {
      const { db: counted, most, texts } = countingEvents(db())
      const told = await outcomeStore(counted).outcomes(
        project_id,
        outcomeQuestion({ ...RANGE, ...query, group_by: 'key_id' }),
      )
      const counts = new Map<string, number>()
      for (const { key_id } of of) counts.set(key_id, (counts.get(key_id) ?? 0) + 1)
      const worst = [...counts].toSorted(([, one], [, other]) => other - one)
      expect(told.map(({ name, failed: times }) => [name, times])).toEqual(worst)
      const of_failures = texts.filter((text) => text.includes("status <> 'completed'"))
      expect(of_failures.length).toBeGreaterThanOrEqual(2 * 3) // of three windows the end, and what is in it
      expect(most()).toBeLessThanOrEqual(WINDOW_MOST)
    }
  })

  test('§8.2.3 what failed most is first; who only left is told when asked for; rolled up or not', async () => {
    const project_id = await used()
    const look = async () => {
      const told = await ask(project_id, { group_by: 'model' })
      expect(told.map(({ name, requests, failed }) => [name, requests, failed])).toEqual([
        ['flaky', 30, 15],
        ['busy', 60, 6],
      ])
      expect(Math.abs((told[0]?.duration_p95_ms ?? 0) - 2_000)).toBeLessThanOrEqual(2_000 * 0.032)
      expect(told[0]?.ttft_p50_ms).toBe(null)
      const [, , calm] = await ask(project_id, { group_by: 'model', name: ['calm', 'unknown'] })
      expect(calm).toMatchObject({ name: 'calm', failed: 0, by_status: { client_left: 10 }, duration_p50_ms: 7 })
    }
    await look()
    await rollEverything(db())
    await look()
  })

  test('§8.2.3 filters apply to both halves of the answer; §5.8 another project sees nothing', async () => {
    const project_id = await used()
    await rollEverything(db())
    const broken = await ask(project_id, { group_by: 'provider', model: 'flaky', name: 'openai' })
    expect(broken.map(({ requests, failed }) => [requests, failed])).toEqual([[30, 15]])
    expect(await ask(project_id, { group_by: 'model', status: 'failed' })).toMatchObject([{ name: 'busy', failed: 6 }])
    const none = { group_by: 'cluster_id', name: '' }
    expect(await ask(project_id, none)).toMatchObject([{ name: '', requests: 100, failed: 21 }])
    expect(await ask(await projectIn(db()), { group_by: 'model', name: 'flaky' })).toEqual([])
  })

  test('§8.2.3 calls of replay runs are left out, or alone; rolled up or not', async () => {
    const project_id = await used()
    const replay = `key_of_${project_id}`
    await db().rows(sql`INSERT INTO replay_key (key_id, project_id) VALUES (${replay}, ${project_id})`)
    const again = { resolved_model: 'flaky', status: 'failed', created_at: rfc3339(NOON), key_id: replay } as const
    for (let n = 0; n < 5; n++) await usageStore(db()).insert(usageEvent(project_id, again))
    const look = async () => {
      const flaky = async (replays?: 'exclude' | 'only') =>
        (await ask(project_id, { group_by: 'model', name: 'flaky', ...(replays && { replays }) })).find(
          ({ name }) => name === 'flaky',
        )
      expect(await flaky()).toMatchObject({ requests: 35, failed: 20 })
      expect(await flaky('exclude')).toMatchObject({ requests: 30, failed: 15 })
      expect(await flaky('only')).toMatchObject({ requests: 5, failed: 5 })
    }
    await look()
    await rollEverything(db())
    await look()
  })

  test('R77 of many keys and days, each key is told whole, and others have turns of the event loop meanwhile', async () => {
    const project_id = await projectIn(db())
    const [keys, days] = [25, 20]
    const keyOf = (n: number) => `key_${String(n).padStart(2, '0')}`
    await db().transaction(async (tx) => {
      for (let key = 0; key < keys; key++)
        for (let day = 0; day < days; day++) {
          const status = day < key ? 'failed' : 'completed'
          const created_at = rfc3339(NOON + (day - days) * DAY_MS)
          await usageStore(tx).insert(usageEvent(project_id, { key_id: keyOf(key), created_at, status }))
        }
    })
    await rollEverything(db())
    const question = outcomeQuestion({ group_by: 'key_id', from: rfc3339(NOON - 30 * DAY_MS), name: keyOf(0) })
    const asked = (on: Db) => outcomeStore(on).outcomes(project_id, question)
    const { value: told, turns } = await turnsDuring(db(), asked)
    const expected = Array.from({ length: keys }, (_, key) => [keyOf(key), days, Math.min(key, days)] as const)
    expect(told.map(({ name, requests, failed }) => [name, requests, failed]).toSorted()).toEqual(expected)
    expect(turns).toBeGreaterThanOrEqual((keys * days) / 100)
  })

  test.each([
    [{}, "'group_by' must be one of"],
    [{ group_by: 'day' }, "'group_by' must be one of"],
    [{ group_by: 'model', name: Array.from({ length: 101 }, () => 'm') }, "'name' must be given at most 100 times"],
    [{ group_by: 'model', name: '\0' }, "'name'"],
    [{ group_by: 'model', from: 'soon' }, "'from'"],
  ])('§8.2.3 %j is refused, and says why', (query, reason) => {
    expect(() => outcomeQuestion(query)).toThrow(reason)
  })
})
