// What roll-ups do not know, taken out of them: bundles, tags, replays; and what a roll-up that came later does not have.
import { beforeAll, describe, expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { ENGINE, withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { expectedGroups, rollEverything, shownGroups } from '../../test/support/usage-answers.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { countingEvents, insertAll, replayKeyOf, WINDOW_MOST } from '../../test/support/usage-windows.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, rfc3339 } from '../core/clock.ts'
import { type Sql, sql } from '../storage/db.ts'
import { usageArchive } from './usage-archive-store.ts'
import type { UsageEvent } from './usage-event.ts'
import { usageQuestion } from './usage-query.ts'
import { usageStore } from './usage-store.ts'
import { timelineQuestion } from './usage-timeline.ts'
import { usageTimeline } from './usage-timeline-store.ts'

/** What reads events for their bundles or tags; the rest of an answer is roll-ups, and their few at the ends. */
const APART = /usage_tag|e\.bundle_id/

withDb((db) => {
  const made = (project_id: string, { minutes, ...more }: { minutes: number } & Partial<UsageEvent>) =>
    usageEvent(project_id, { ...more, created_at: rfc3339(NOON + minutes * MINUTE_MS) })

  async function wrong(project_id: string, events: readonly UsageEvent[], query: object): Promise<boolean> {
    const question = usageQuestion({ ...query, limit: '10000' })
    const { data } = await usageStore(db()).grouped(project_id, question)
    return JSON.stringify(shownGroups(data)) !== JSON.stringify(expectedGroups(events, question))
  }

  test.each(['bundle_id', 'day,bundle_id', 'tag:team', 'model,tag:team'])(
    '§8.2.3 by %s: those that have it out of events, the rest out of roll-ups, and nothing twice',
    async (group_by) => {
      const project_id = await projectIn(db())
      const having = [{ bundle_id: 'bnd_1', tags: { team: 'search' } }, { tags: { run: '1' } }, {}]
      const events = Array.from({ length: 60 }, (_, n) => made(project_id, { minutes: n * 60, ...having[n % 3] }))
      for (const event of events.slice(0, 40)) await usageStore(db()).insert(event)
      await rollEverything(db())
      for (const event of events.slice(40)) await usageStore(db()).insert(event)
      for (const query of [{}, { model: 'gpt-4o' }, { key_id: 'key_1', from: rfc3339(NOON + 90 * MINUTE_MS) }])
        expect(await wrong(project_id, events, { ...query, group_by })).toBe(false)
      await rollEverything(db())
      await db().rows(sql`
        DELETE FROM usage_event WHERE project_id = ${project_id} AND bundle_id IS NULL AND tags IS NULL`)
      expect(await wrong(project_id, events, { group_by })).toBe(false) // what has none is not looked at
    },
  )

  test.each(['model,provider', 'provider', 'day,model,cluster_id', 'bundle_id', 'tag:team', 'key_id,model'])(
    '§8.2.3 by %s, replays left out are taken off, before and after they are rolled up',
    async (group_by) => {
      const project_id = await projectIn(db())
      const replay = `key_of_${project_id}`
      await db().rows(sql`INSERT INTO replay_key (key_id, project_id) VALUES (${replay}, ${project_id})`)
      const events = Array.from({ length: 40 }, (_, n) =>
        made(project_id, {
          minutes: n * 90,
          key_id: n % 4 === 0 ? replay : 'key_1',
          provider: n % 8 === 0 ? 'only-replayed' : 'openai',
          ...(n % 3 === 0 && { bundle_id: 'bnd_1', tags: { team: 'search' } }),
        }),
      )
      const own = events.filter(({ key_id }) => key_id !== replay)
      for (const event of events.slice(0, 25)) await usageStore(db()).insert(event)
      await rollEverything(db())
      for (const event of events.slice(25)) await usageStore(db()).insert(event)
      for (const query of [{}, { provider: 'openai', from: rfc3339(NOON + 100 * MINUTE_MS) }])
        expect(await wrong(project_id, own, { ...query, group_by, replays: 'exclude' })).toBe(false)
      await rollEverything(db())
      expect(await wrong(project_id, own, { group_by, replays: 'exclude' })).toBe(false)
    },
  )

  describe('of very many events', () => {
    const [OLD, NEW] = [3_000, 2_600]
    let project_id: string
    let replay: string
    let events: UsageEvent[]

    /** Old ones over two days, and then as many again within half an hour. One in ten has neither bundle nor tag. */
    beforeAll(async () => {
      project_id = await projectIn(db())
      replay = await replayKeyOf(db(), project_id)
      const timeOf = (n: number) => NOON + (n < OLD ? n * 50_000 : 2 * DAY_MS + (n - OLD) * 690)
      events = Array.from({ length: OLD + NEW }, (_, n) =>
        usageEvent(project_id, {
          created_at: rfc3339(timeOf(n)),
          key_id: n % 7 === 0 ? replay : `key_${n % 2}`,
          resolved_model: `m${n % 2}`,
          charged_micros: n,
          ...(n % 10 > 0 && { bundle_id: n % 4 === 0 ? 'bnd_rare' : 'bnd_usual', tags: { team: `t${n % 3}` } }),
        }),
      )
      await insertAll(db(), events)
      await rollEverything(db())
    })

    const EACH = [
      ['tag:team', {}],
      ['day,model,tag:team', {}],
      ['tag:team', { key_id: 'key_1', from: rfc3339(NOON + HOUR_MS + 7), to: rfc3339(NOON + 3 * DAY_MS + 7) }],
      ['bundle_id', {}],
      ['day,model,bundle_id', {}],
      ['bundle_id', { key_id: 'key_1' }],
      ['bundle_id', { from: rfc3339(NOON + 2 * DAY_MS), model: 'm1' }],
    ] as const

    test.each(EACH)('R78 by %s of %j no statement tells of more than a window', async (group_by, query) => {
      const { db: counted, most, told } = countingEvents(db(), APART)
      const question = usageQuestion({ ...query, group_by })
      const { data } = await usageStore(counted).grouped(project_id, { ...question, limit: 10_000 })
      expect(shownGroups(data)).toEqual(expectedGroups(events, question))
      expect(most()).toBeLessThanOrEqual(WINDOW_MOST)
      expect(told.length).toBeGreaterThan(1)
    })

    test.each(EACH)('R78 by %s of %j, without replays', async (group_by, query) => {
      const { db: counted, most } = countingEvents(db(), APART)
      const question = usageQuestion({ ...query, group_by, replays: 'exclude' })
      const { data } = await usageStore(counted).grouped(project_id, { ...question, limit: 10_000 })
      const own = events.filter(({ key_id }) => key_id !== replay)
      expect(shownGroups(data)).toEqual(expectedGroups(own, question))
      expect(most()).toBeLessThanOrEqual(WINDOW_MOST)
    })

    test.each(['model,tag:team', 'model,bundle_id'])(
      'R78 a page by %s is the beginning of the whole',
      async (group_by) => {
        const page = async (limit: number) =>
          (await usageStore(db()).grouped(project_id, { ...usageQuestion({ group_by }), limit })).data
        const whole = await page(10_000)
        expect(await page(2)).toEqual(whole.slice(0, 2))
      },
    )

    test.each(['tag:team', 'bundle_id'])(
      'R43 by %s, what comes while it is asked is in its own group, or in none',
      async (group_by) => {
        const { is_late, late } = lateOnes(project_id, group_by)
        const store = usageStore({ ...db(), rows: late })
        const found = (await store.grouped(project_id, { ...usageQuestion({ group_by }), limit: 100 })).data
        const all = [...events, ...is_late]
        const nameOf = (event: UsageEvent) => (group_by === 'bundle_id' ? event.bundle_id : event.tags?.team) ?? null
        for (const { bundle_id = null, tag = null, events: told } of found) {
          const name = group_by === 'bundle_id' ? bundle_id : tag
          const before = events.filter((one) => nameOf(one) === name).length
          const after = all.filter((one) => nameOf(one) === name).length
          expect([told >= before, told <= after]).toEqual([true, true])
        }
        expect(is_late.length).toBeGreaterThan(2)
        events.push(...is_late)
      },
    )

    /** Before each statement of a question, one more call ends. */
    function lateOnes(project: string, group_by: string) {
      const is_late: UsageEvent[] = []
      const late: ReturnType<typeof db>['rows'] = async (statement) => {
        const created_at = rfc3339(NOON + 2 * DAY_MS + 30 * MINUTE_MS + is_late.length)
        const named = group_by === 'bundle_id' ? { bundle_id: 'bnd_usual' } : { tags: { team: 't1' } }
        const event = usageEvent(project, { created_at, ...named })
        is_late.push(event)
        await usageStore(db()).insert(event)
        return db().rows(statement)
      }
      return { is_late, late }
    }
  })

  test.each(['day', 'key_id', 'model', 'model,provider', 'tag:team', 'bundle_id', 'day,key_id,model'])(
    'R43 by %s: without replays and those alone are all, also once the events are gone',
    async (group_by) => {
      const project_id = await projectIn(db())
      const replay = await replayKeyOf(db(), project_id)
      const events = Array.from({ length: 40 }, (_, n) =>
        made(project_id, {
          minutes: n * 300,
          key_id: n % 4 === 0 ? replay : `key_${n % 2}`,
          resolved_model: `m${n % 3}`,
          ...(n > 30 && { bundle_id: 'bnd_1', tags: { team: 'search' } }),
        }),
      )
      await insertAll(db(), events)
      await rollEverything(db())
      const sums = async (query: object) => {
        const question = usageQuestion({ ...query, limit: '10000' })
        return shownGroups((await usageStore(db()).grouped(project_id, question)).data)
      }
      const own = events.filter(({ key_id }) => key_id !== replay)
      const look = async () => {
        expect(await sums({ group_by, replays: 'exclude' })).toEqual(expectedGroups(own, usageQuestion({ group_by })))
        const again = events.filter(({ key_id }) => key_id === replay)
        expect(await sums({ group_by, replays: 'only' })).toEqual(expectedGroups(again, usageQuestion({ group_by })))
        expect(await sums({ group_by })).toEqual(expectedGroups(events, usageQuestion({ group_by })))
      }
      await look()
      const archive = usageArchive(db())
      const now = NOON + 15 * DAY_MS
      for (let step = 0; step < 100 && (await archive.expire(9, now)); step++);
      expect((await db().rows(sql`SELECT 1 AS left FROM usage_event WHERE project_id = ${project_id}`)).length).toBe(11)
      await look()
      const range = { from: rfc3339(NOON - DAY_MS / 2), to: rfc3339(NOON + 15 * DAY_MS + DAY_MS / 2) }
      const steps = timelineQuestion({ ...range, step: 'day', replays: 'exclude' })
      const { data } = await usageTimeline(db()).steps(project_id, steps)
      expect(data.reduce((sum, { requests }) => sum + requests, 0)).toBe(own.length)
    },
  )

  test.runIf(ENGINE === 'sqlite')(
    '§8.2.3 what replays used is found by their keys, and not among the roll-ups of all keys',
    async () => {
      const project_id = await projectIn(db())
      await insertAll(db(), [made(project_id, { minutes: 0, key_id: await replayKeyOf(db(), project_id) })])
      await rollEverything(db())
      const plans: string[] = []
      const rows = async <Row>(statement: Sql) => {
        const [first, ...rest] = statement.text
        const text = [`EXPLAIN QUERY PLAN ${first}`, ...rest]
        plans.push(...(await db().rows<{ detail: string }>({ ...statement, text })).map(({ detail }) => detail))
        return db().rows<Row>(statement)
      }
      const question = usageQuestion({ group_by: 'model,provider', replays: 'exclude' })
      expect((await usageStore({ ...db(), rows }).grouped(project_id, question)).data).toEqual([])
      const by_key = plans.filter((plan) => plan.includes('usage_rollup_by_key (key_id=? AND cube=? AND start_ms>?'))
      expect(by_key).toHaveLength(1)
    },
  )

  test.each(['tag:team', 'bundle_id'])(
    'R43 by %s: of a project that fell silent long ago, all is told while its last hours go',
    async (group_by) => {
      const project_id = await projectIn(db())
      const events = Array.from({ length: 2_700 }, (_, n) =>
        usageEvent(project_id, { created_at: rfc3339(NOON + n * 2_000), bundle_id: 'bnd_1', tags: { team: 'search' } }),
      )
      await insertAll(db(), events)
      await rollEverything(db())
      const now = NOON + 9 * DAY_MS + 200 * 2_000
      for (let step = 0; step < 100 && (await usageArchive(db()).expire(9, now)); step++);
      const { data } = await usageStore(db()).grouped(project_id, { ...usageQuestion({ group_by }), limit: 10 })
      const told = data.map(({ bundle_id, tag, events: times }) => [bundle_id ?? tag ?? null, times])
      expect(told).toEqual([
        [group_by === 'bundle_id' ? 'bnd_1' : 'search', 2_500],
        [null, 200],
      ])
    },
  )

  test('R43 days of before there was a roll-up by place are told by the one by everything', async () => {
    const project_id = await projectIn(db())
    const events = Array.from({ length: 60 }, (_, n) =>
      made(project_id, { minutes: n * 90, resolved_model: `m${n % 2}`, provider: `p${n % 3}` }),
    )
    for (const event of events.slice(0, 30)) await usageStore(db()).insert(event)
    await rollEverything(db())
    await db().rows(sql`DELETE FROM usage_rollup WHERE project_id = ${project_id} AND cube = 'day:place'`)
    for (const event of events.slice(30)) await usageStore(db()).insert(event)
    await rollEverything(db())
    for (const query of [{}, { from: rfc3339(NOON + 3 * 24 * HOUR_MS) }, { model: 'm1' }])
      expect(await wrong(project_id, events, { ...query, group_by: 'model,provider' })).toBe(false)
  })

  test('R43 planted: a roll-up by place that is wrong is what is told, and the comparison says so', async () => {
    const project_id = await projectIn(db())
    const events = Array.from({ length: 30 }, (_, n) => made(project_id, { minutes: n }))
    for (const event of events) await usageStore(db()).insert(event)
    await rollEverything(db())
    await db().rows(sql`
      UPDATE usage_rollup SET charged_micros = charged_micros + 1
      WHERE project_id = ${project_id} AND cube = 'day:place'`)
    expect(await wrong(project_id, events, { group_by: 'model,provider' })).toBe(true)
  })
})
