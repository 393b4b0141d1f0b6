// Roll-ups and what is not rolled up yet are all there is: at any moment, whatever the order, whoever rolls.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { expectedGroups, rollEverything, rollSome, shownGroups } from '../../test/support/usage-answers.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { HOUR_MS, MINUTE_MS, rfc3339 } from '../core/clock.ts'
import { sql } from '../storage/db.ts'
import { alikeEvents } from './alike-events.ts'
import type { UsageEvent } from './usage-event.ts'
import { GROUPS, usageQuestion } from './usage-query.ts'
import { usageRollups } from './usage-rollup-store.ts'
import { usageStore } from './usage-store.ts'
import { timelineQuestion } from './usage-timeline.ts'
import { usageTimeline } from './usage-timeline-store.ts'

const oneOf = (...values: string[]) => fc.constantFrom(...values)
const minutes = fc.integer({ min: 0, max: 5 * 24 * 60 })

const someEvent = fc.record({
  minutes,
  key_id: oneOf('key_a', 'key_b', 'key_c'),
  resolved_model: oneOf('m1', 'm2'),
  provider: oneOf('p1', 'p2'),
  profile: oneOf('byok', 'byoc_native'),
  cluster_id: fc.option(oneOf('byc_1', 'byc_2')),
  session_id: fc.option(oneOf('ses_1')),
  bundle_id: fc.option(oneOf('bnd_1', 'bnd_2')),
  tags: fc.option(fc.record({ team: oneOf('search', 'core'), run: oneOf('1', '2') }), { nil: undefined }),
  status: oneOf('completed', 'upstream_failed'),
  charged_micros: fc.integer({ min: 0, max: 1_000_000 }),
  ttft_ms: fc.option(fc.integer({ min: 0, max: 10_000 })),
})

const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 })
const anyQuery = fc.record({
  from: maybe(minutes.map((at) => rfc3339(NOON + at * MINUTE_MS - 7))),
  to: maybe(minutes.map((at) => rfc3339(NOON + at * MINUTE_MS + 13))),
  key_id: maybe(oneOf('key_a', 'key_b', 'key_none')),
  model: maybe(oneOf('m1', 'm2')),
  provider: maybe(oneOf('p1')),
  profile: maybe(oneOf('byok')),
  cluster_id: maybe(oneOf('byc_1', '')),
  session_id: fc.option(oneOf('ses_1'), { nil: undefined, freq: 6 }),
  group_by: fc.subarray([...GROUPS, 'tag:team'], { minLength: 1 }).map((names) => names.join(',')),
})
/** One that ends before it begins is refused (R75). */
const someQuery = anyQuery.filter(({ from, to }) => from === undefined || to === undefined || from <= to)

const turn = () => new Promise((done) => setImmediate(done))

type Query = Parameters<typeof usageQuestion>[0]
const given = (query: object): Query =>
  Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined))

withDb((db) => {
  const made = (project_id: string, { minutes: at, ...more }: { minutes: number } & Partial<UsageEvent>) =>
    usageEvent(project_id, { ...more, created_at: rfc3339(NOON + at * MINUTE_MS) })

  async function wrong(project_id: string, events: readonly UsageEvent[], query: object): Promise<boolean> {
    const question = usageQuestion({ ...given(query), limit: '10000' })
    const { data } = await usageStore(db()).grouped(project_id, question)
    return JSON.stringify(shownGroups(data)) !== JSON.stringify(expectedGroups(events, question))
  }

  /** A page of keys is the beginning of all of them. */
  async function expectDearestFirst(project_id: string, queries: readonly object[]): Promise<void> {
    const keysOf = async (query: object, limit: number) => {
      const question = usageQuestion({ ...given(query), group_by: 'key_id', limit: String(limit) })
      return (await usageStore(db()).grouped(project_id, question)).data
    }
    for (const query of [{}, ...queries]) {
      const all = await keysOf(query, 10_000)
      for (const limit of [1, 2]) expect(await keysOf(query, limit)).toEqual(all.slice(0, limit))
    }
  }

  test('R43 whatever is asked, before, while and after events are rolled up, the figures are those of the events', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(someEvent, { minLength: 1, maxLength: 40 }),
        fc.array(someQuery, { minLength: 3, maxLength: 6 }),
        fc.integer({ min: 1, max: 40 }),
        async (some, queries, batch) => {
          await rollEverything(db())
          const project_id = await projectIn(db())
          const events = some.map((one) => made(project_id, one as { minutes: number } & Partial<UsageEvent>))
          const store = usageStore(db())
          for (const event of events.slice(0, 20)) await store.insert(event)
          await rollSome(db(), batch)
          for (const event of events.slice(20)) await store.insert(event) // late ones, into hours that are rolled up
          for (const query of queries) expect(await wrong(project_id, events, query)).toBe(false)
          await expectDearestFirst(project_id, queries)
          await rollEverything(db(), batch)
          for (const query of queries) expect(await wrong(project_id, events, query)).toBe(false)
          await expectDearestFirst(project_id, queries)
        },
      ),
      { numRuns: 25, seed: 20_261_115 },
    )
  })

  const many = (project_id: string, count: number) =>
    Array.from({ length: count }, (_, n) => made(project_id, { minutes: n % 400, charged_micros: n }))

  test('R43 while some insert, some ask and two roll up, no sum is ever short of what was written', async () => {
    const project_id = await projectIn(db())
    const events = many(project_id, 240)
    let written = 0
    const insert = async () => {
      for (const event of events) {
        await usageStore(db()).insert(event)
        written++
      }
    }
    const roll = async () => {
      for (; written < events.length; await turn()) await usageRollups(db()).roll(7)
    }
    const ask = async () => {
      while (written < events.length) {
        await turn() // reads of the embedded store resolve at once, and would leave nobody else a turn
        const before = written
        const [total] = (await usageStore(db()).grouped(project_id, usageQuestion({ group_by: 'profile' }))).data
        const counted = total?.events ?? 0
        expect(counted >= before && counted <= written + 1).toBe(true)
      }
    }
    await Promise.all([insert(), roll(), roll(), ask()])
    await rollEverything(db())
    expect(await wrong(project_id, events, { group_by: 'day,key_id' })).toBe(false)
  })

  test('R43 a roll-up that fails half way leaves everything as it was', async () => {
    const project_id = await projectIn(db())
    await rollEverything(db())
    const events = many(project_id, 30)
    for (const event of events) await usageStore(db()).insert(event)
    const half = db().transaction(async (tx) => {
      await usageRollups(tx).roll(20)
      throw new Error('power cut')
    })
    await expect(half).rejects.toThrow('power cut')
    expect(await usageRollups(db()).waiting()).toBe(30)
    expect(await wrong(project_id, events, { group_by: 'day' })).toBe(false)
    await rollEverything(db())
    expect(await usageRollups(db()).waiting()).toBe(0)
    expect(await wrong(project_id, events, { group_by: 'day' })).toBe(false)
  })

  /** Inserts as a server does, and rolls up what it knows of its own events. */
  function server(known = alikeEvents()) {
    return { known, insert: (event: UsageEvent) => usageStore(db(), known).insert(event), ...usageRollups(db(), known) }
  }

  test('§8.2.3 what this process has written is rolled up without being read', async () => {
    const project_id = await projectIn(db())
    await rollEverything(db())
    const events = many(project_id, 600)
    const { insert, rollWritten, waiting, known } = server()
    for (const event of events) await insert(event)
    expect(await rollWritten()).toBe(true)
    expect([await waiting(), known.count()]).toEqual([0, 0])
    expect(await wrong(project_id, events, { group_by: 'day,key_id,model' })).toBe(false)
  })

  test('§8.2.3 what others have written, or was before, must be read, and nothing is rolled up twice', async () => {
    const project_id = await projectIn(db())
    await rollEverything(db())
    const [before, events] = [many(project_id, 5), many(project_id, 20)]
    for (const event of before) await usageStore(db()).insert(event)
    const { insert, rollWritten, known } = server()
    for (const event of events) await insert(event)
    expect([await rollWritten(), known.count()]).toEqual([false, 0])
    await rollEverything(db())
    expect(await rollWritten()).toBe(true)
    expect(await wrong(project_id, [...before, ...events], { group_by: 'day,key_id' })).toBe(false)
  })

  test('R43 an event whose transaction came to nothing is not rolled up, and holds up none of its neighbours', async () => {
    const project_id = await projectIn(db())
    await rollEverything(db())
    const events = many(project_id, 20)
    const { insert, rollWritten, known } = server()
    for (const event of events) await insert(event)
    const failing = db().transaction(async (tx) => {
      await usageStore(tx, known).insert(usageEvent(project_id))
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect(await rollWritten()).toBe(false)
    await rollEverything(db())
    expect(await rollWritten()).toBe(true)
    expect(await wrong(project_id, events, { group_by: 'day,key_id' })).toBe(false)
  })

  test('R43 planted: an event that loses its line before it is rolled up is missed, and the comparison says so', async () => {
    const project_id = await projectIn(db())
    const events = many(project_id, 12)
    for (const event of events) await usageStore(db()).insert(event)
    await db().rows(sql`DELETE FROM usage_unrolled WHERE trace_id = ${events[3]?.trace_id ?? ''}`)
    expect(await wrong(project_id, events, { group_by: 'day' })).toBe(true)
  })

  test('R43 planted: an event that keeps its line is counted twice, and the comparison says so', async () => {
    const project_id = await projectIn(db())
    const events = many(project_id, 12)
    for (const event of events) await usageStore(db()).insert(event)
    await rollEverything(db())
    await db().rows(sql`INSERT INTO usage_unrolled (trace_id, project_id)
      VALUES (${events[3]?.trace_id ?? ''}, ${project_id})`)
    expect(await wrong(project_id, events, { group_by: 'day' })).toBe(true)
    await db().rows(sql`DELETE FROM usage_unrolled WHERE trace_id = ${events[3]?.trace_id ?? ''}`)
  })

  test('§8.2.3 once rolled up, a year is asked for without its events', async () => {
    const project_id = await projectIn(db())
    const events = many(project_id, 20)
    for (const event of events) await usageStore(db()).insert(event)
    await rollEverything(db())
    await db().rows(sql`DELETE FROM usage_event WHERE project_id = ${project_id}`)
    for (const group_by of ['day', 'day,model', 'key_id,provider,day', 'cluster_id'])
      expect(await wrong(project_id, events, { group_by })).toBe(false)
    const hour = rfc3339(NOON + HOUR_MS)
    expect(await wrong(project_id, events, { group_by: 'model', from: hour })).toBe(false)
  })

  /** As the version before would have rolled it up. */
  const withoutTheFinest = (project_id: string) => [
    sql`DELETE FROM usage_rollup WHERE project_id = ${project_id} AND cube IN ('minutes:total', 'quarter:all')`,
    sql`UPDATE usage_rollup SET finer_events = 0 WHERE project_id = ${project_id}`,
  ]

  test('R43 where a version without the finest roll-ups added to a day, events stand in for them', async () => {
    const project_id = await projectIn(db())
    const events = many(project_id, 400)
    for (const event of events.slice(0, 250)) await usageStore(db()).insert(event)
    await rollEverything(db())
    for (const statement of withoutTheFinest(project_id)) await db().rows(statement)
    for (const event of events.slice(250)) await usageStore(db()).insert(event)
    await rollEverything(db())
    const [from, to] = [rfc3339(NOON - 283 * MINUTE_MS), rfc3339(NOON + 391 * MINUTE_MS)]
    for (const group_by of ['day', 'model', 'key_id', 'provider', 'key_id,model'])
      expect(await wrong(project_id, events, { group_by, from, to })).toBe(false)
    const query = { from: rfc3339(NOON - 7 * HOUR_MS + 7), to, key_id: 'key_1', model: 'gpt-4o' }
    const { data: steps } = await usageTimeline(db()).steps(project_id, timelineQuestion({ ...query, step: 'day' }))
    expect(steps.reduce((sum, { requests }) => sum + requests, 0)).toBe(391) // a minute each
  })

  test('R43 planted: roll-ups that claim to be in the finest ones are believed, and the comparison says so', async () => {
    const project_id = await projectIn(db())
    const events = many(project_id, 400)
    for (const event of events) await usageStore(db()).insert(event)
    await rollEverything(db())
    const [finest = sql``] = withoutTheFinest(project_id)
    await db().rows(finest)
    const [from, to] = [rfc3339(NOON - 283 * MINUTE_MS), rfc3339(NOON + 391 * MINUTE_MS)]
    for (const group_by of ['day', 'key_id,model'])
      expect(await wrong(project_id, events, { group_by, from, to })).toBe(true)
  })
})
