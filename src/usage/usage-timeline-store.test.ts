// GET /v2/usage/timeline against what the events say, out of events and out of roll-ups.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { turnsDuring } from '../../test/support/turns.ts'
import { rollEverything, rollSome } from '../../test/support/usage-answers.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, rfc3339 } from '../core/clock.ts'
import { type Db, type Sql, sql } from '../storage/db.ts'
import { bucketOf, bucketSql } from './latency-histogram.ts'
import type { UsageEvent } from './usage-event.ts'
import { usageStore } from './usage-store.ts'
import { timelineQuestion } from './usage-timeline.ts'
import { usageTimeline } from './usage-timeline-store.ts'

const DAYS = 3

/** One event every 37 minutes over three days; one in seven failed, and has no first token. */
const busy = (project_id: string): UsageEvent[] =>
  Array.from({ length: Math.floor((DAYS * DAY_MS) / (37 * MINUTE_MS)) }, (_, n) =>
    usageEvent(project_id, {
      created_at: rfc3339(NOON + n * 37 * MINUTE_MS),
      key_id: `key_${n % 2}`,
      resolved_model: `m${n % 3}`,
      status: n % 7 ? 'completed' : 'upstream_failed',
      ttft_ms: n % 7 ? 100 + n : null,
      duration_ms: 1_000 + n * 13,
      charged_micros: n,
    }),
  )

const rank = (values: number[], percent: number) =>
  values.sort((a, b) => a - b)[Math.ceil((values.length * percent) / 100) - 1] ?? null

withDb((db) => {
  const timeline = (project_id: string, query: Parameters<typeof timelineQuestion>[0]) =>
    usageTimeline(db()).steps(project_id, timelineQuestion(query))
  const ask = async (project_id: string, query: Parameters<typeof timelineQuestion>[0]) =>
    (await timeline(project_id, query)).data

  async function used(): Promise<{ project_id: string; events: UsageEvent[] }> {
    const project_id = await projectIn(db())
    const events = busy(project_id)
    for (const event of events) await usageStore(db()).insert(event)
    return { project_id, events }
  }

  function expected(events: readonly UsageEvent[], step_ms: number, from: number, to: number) {
    const first = from - (from % step_ms)
    return Array.from({ length: Math.ceil((to - first) / step_ms) }, (_, n) => {
      const start = first + n * step_ms
      const inside = events.filter(({ created_at }) => {
        const at = Date.parse(created_at)
        return at >= Math.max(from, start) && at < Math.min(to, start + step_ms)
      })
      const ttfts = inside.flatMap(({ ttft_ms }) => ttft_ms ?? [])
      return {
        start: rfc3339(start),
        requests: inside.length,
        errors: inside.filter(({ status }) => status !== 'completed').length,
        charged_micros: inside.reduce((sum, event) => sum + event.charged_micros, 0),
        p: [50, 95].flatMap((p) => [
          rank(
            inside.map((event) => event.duration_ms),
            p,
          ),
          rank([...ttfts], p),
        ]),
      }
    })
  }

  const sums = (steps: readonly { start: string; requests: number; errors: number; charged_micros: number }[]) =>
    steps.map(({ start, requests, errors, charged_micros }) => ({ start, requests, errors, charged_micros }))

  test.each([
    ['minute', MINUTE_MS, NOON + 90_000, NOON + 5 * HOUR_MS + 1],
    ['hour', HOUR_MS, NOON + 90_000, NOON + 6 * HOUR_MS],
  ] as const)(
    '§8.2.3 by %s over a short range everything is exact, and empty steps are there',
    async (step, ms, from, to) => {
      const { project_id, events } = await used()
      const steps = await ask(project_id, { from: rfc3339(from), to: rfc3339(to), step })
      const right = expected(events, ms, from, to)
      expect(sums(steps)).toEqual(sums(right))
      const shown = steps.map((s) => [s.duration_p50_ms, s.ttft_p50_ms, s.duration_p95_ms, s.ttft_p95_ms])
      expect(shown).toEqual(right.map(({ p }) => p))
      expect(steps.some(({ requests }) => requests === 0)).toBe(step === 'minute')
    },
  )

  test.each([
    ['hour', HOUR_MS, NOON + 90_000, NOON + 2 * DAY_MS + 12_345],
    ['hour', HOUR_MS, NOON - DAY_MS, NOON + DAYS * DAY_MS],
    ['day', DAY_MS, NOON + 90_000, NOON + 2 * DAY_MS + 12_345],
    ['day', DAY_MS, NOON - DAY_MS, NOON + 5 * DAY_MS],
  ] as const)(
    '§8.2.3 by %s over a long range sums are exact, percentiles near, rolled up or not',
    async (step, ms, from, to) => {
      const { project_id, events } = await used()
      const right = expected(events, ms, from, to)
      const look = async () => {
        const steps = await ask(project_id, { from: rfc3339(from), to: rfc3339(to), step })
        expect(sums(steps)).toEqual(sums(right))
        for (const [n, { p }] of right.entries()) {
          const s = steps[n]
          for (const [at, is] of [s?.duration_p50_ms, s?.ttft_p50_ms, s?.duration_p95_ms, s?.ttft_p95_ms].entries())
            if (p[at] === null) expect(is).toBe(null)
            else expect(Math.abs((is ?? 0) - (p[at] ?? 0))).toBeLessThanOrEqual((p[at] ?? 0) * 0.032)
        }
      }
      await look()
      await rollSome(db(), 40)
      await look()
      await rollEverything(db())
      await look()
    },
  )

  test('§8.2.3 percentiles of the whole range: exact over a short one, near over a long one, rolled up or not', async () => {
    const { project_id, events } = await used()
    const durations = (to: number) =>
      events.filter(({ created_at }) => Date.parse(created_at) < to).map(({ duration_ms }) => duration_ms)
    const overall = async (to: number) =>
      (await timeline(project_id, { from: rfc3339(NOON), to: rfc3339(to), step: 'hour' })).overall
    const short = await overall(NOON + 6 * HOUR_MS)
    expect(short.duration_p95_ms).toBe(rank(durations(NOON + 6 * HOUR_MS), 95))
    const whole = rank(durations(Number.POSITIVE_INFINITY), 95) ?? 0
    const waiting = await overall(NOON + DAYS * DAY_MS)
    expect(Math.abs((waiting.duration_p95_ms ?? 0) - whole)).toBeLessThanOrEqual(whole * 0.032)
    await rollEverything(db())
    expect(await overall(NOON + DAYS * DAY_MS)).toEqual(waiting)
  })

  test('§8.2.3 calls of replay runs are left out, or alone, out of events and out of roll-ups', async () => {
    const { project_id, events } = await used()
    const replay = `key_of_${project_id}`
    await db().rows(sql`INSERT INTO replay_key (key_id, project_id) VALUES (${replay}, ${project_id})`)
    for (const event of busy(project_id).slice(0, 50)) await usageStore(db()).insert({ ...event, key_id: replay })
    const range = { from: rfc3339(NOON), to: rfc3339(NOON + DAYS * DAY_MS) }
    const look = async () => {
      for (const more of [
        { step: 'hour' },
        { step: 'day' },
        { step: 'day', model: 'm1' },
        { step: 'hour', model: 'm1' },
      ])
        for (const [replays, of] of [
          ['exclude', events],
          ['only', events.slice(0, 50)],
        ] as const) {
          const steps = await ask(project_id, { ...range, ...more, replays })
          const right = of.filter(({ resolved_model }) => (more.model ?? resolved_model) === resolved_model)
          expect(steps.reduce((sum, { requests }) => sum + requests, 0)).toBe(right.length)
        }
    }
    await look()
    await rollSome(db(), 40)
    await look()
    await rollEverything(db())
    await look()
  })

  test('§8.2.3 filters apply, out of events and out of roll-ups', async () => {
    const { project_id, events } = await used()
    await rollEverything(db())
    const range = { from: rfc3339(NOON), to: rfc3339(NOON + DAYS * DAY_MS) }
    for (const query of [{ key_id: 'key_1' }, { model: 'm2' }, { key_id: 'key_1', model: 'm2' }, { profile: 'byok' }])
      for (const step of ['hour', 'day'] as const) {
        const steps = await ask(project_id, { ...range, step, ...query })
        const right = events.filter(
          ({ key_id, resolved_model, profile }) =>
            (query.key_id ?? key_id) === key_id &&
            (query.model ?? resolved_model) === resolved_model &&
            (query.profile ?? profile) === profile,
        )
        expect(steps.reduce((sum, { requests }) => sum + requests, 0)).toBe(right.length)
        expect(steps.reduce((sum, { charged_micros }) => sum + charged_micros, 0)).toBe(
          right.reduce((sum, { charged_micros }) => sum + charged_micros, 0),
        )
      }
  })

  test('R78 what only events tell is added up in windows: nothing is left out or told twice, percentiles are exact', async () => {
    const project_id = await projectIn(db())
    const EVENTS = 4_500
    const events = Array.from({ length: EVENTS }, (_, n) =>
      usageEvent(project_id, {
        created_at: rfc3339(NOON + Math.floor((n * 3 * HOUR_MS) / EVENTS)),
        session_id: n % 10 ? 'ses_usual' : 'ses_rare',
        bundle_id: 'bnd_1',
        status: n % 7 ? 'completed' : 'client_left',
        duration_ms: 1_000 + ((n * 7_919) % EVENTS),
        ttft_ms: n % 3 ? n : null,
        charged_micros: n,
      }),
    )
    await db().transaction(async (tx) => {
      for (const event of events) await usageStore(tx).insert(event)
    })
    let most = 0
    const rows = async <R extends { events?: number }>(statement: Sql) => {
      const read = await db().rows<R>(statement)
      const added_up = read.reduce((sum, { events = 0 }) => sum + events, 0)
      most = Math.max(most, read.length, added_up)
      return read
    }
    const range = { from: rfc3339(NOON), to: rfc3339(NOON + 3 * HOUR_MS) }
    for (const filter of [{ session_id: 'ses_usual' }, { session_id: 'ses_rare' }, { bundle_id: 'bnd_1' }, {}])
      for (const [step, ms] of [
        ['minute', MINUTE_MS],
        ['hour', HOUR_MS],
      ] as const) {
        const question = timelineQuestion({ ...range, ...filter, step })
        const { data, overall } = await usageTimeline({ ...db(), rows: rows as Db['rows'] }).steps(project_id, question)
        const fitting = events.filter(({ session_id }) => (filter.session_id ?? session_id) === session_id)
        const right = expected(fitting, ms, NOON, NOON + 3 * HOUR_MS)
        expect(sums(data)).toEqual(sums(right))
        const shown = data.map((s) => [s.duration_p50_ms, s.ttft_p50_ms, s.duration_p95_ms, s.ttft_p95_ms])
        expect(shown).toEqual(right.map(({ p }) => p))
        const durations = fitting.map(({ duration_ms }) => duration_ms)
        expect(overall.duration_p95_ms).toBe(rank(durations, 95))
      }
    expect(most).toBeLessThanOrEqual(2_001) // no statement reads more
    const { trace_id = '' } = events[7] ?? {}
    const one = await ask(project_id, { ...range, trace_id })
    expect(one.map(({ requests, errors }) => [requests, errors])).toEqual([
      [1, 1],
      [0, 0],
      [0, 0],
    ])
  })

  test('§5.8 another project sees zeros', async () => {
    await used()
    await rollEverything(db())
    const steps = await ask(await projectIn(db()), { from: rfc3339(NOON), to: rfc3339(NOON + DAY_MS) })
    expect(steps).toHaveLength(24 + (NOON % HOUR_MS ? 1 : 0))
    expect(steps.every(({ requests, duration_p50_ms }) => requests === 0 && duration_p50_ms === null)).toBe(true)
  })

  test('§8.2.3 the store puts a value into the bucket that the rule puts it into', async () => {
    const edges = Array.from({ length: 34 }, (_, doublings) => [-1, 0, 1].map((off) => 2 ** doublings + off)).flat()
    const odd = Array.from({ length: 60 }, (_, n) => Math.floor(1.4 ** n) * 7 + n)
    for (const value of [-5, 0, ...edges, ...odd, 100_000_000_000]) {
      const bucket = { text: [`SELECT ${bucketSql('v')} AS bucket FROM (SELECT CAST(`, ' AS BIGINT) AS v) AS one'] }
      expect(await db().rows({ ...bucket, values: [value], once: true })).toEqual([{ bucket: bucketOf(value) }])
    }
  })

  test('§8.2.3 an event counts the same at the end of a range, waiting, and rolled up', async () => {
    const { project_id, events } = await used()
    const [from, to] = [rfc3339(NOON), rfc3339(NOON + DAYS * DAY_MS)]
    const waiting = await ask(project_id, { from, to, step: 'day' })
    await rollEverything(db())
    expect(await ask(project_id, { from, to, step: 'day' })).toEqual(waiting)
    expect(waiting.reduce((sum, { requests }) => sum + requests, 0)).toBe(events.length)
  })

  test('R77 the histograms of many clusters are put together in steps', async () => {
    const project_id = await projectIn(db())
    const [clusters, days] = [25, 20]
    await db().transaction(async (tx) => {
      for (let n = 0; n < clusters * days; n++)
        await usageStore(tx).insert(
          usageEvent(project_id, {
            created_at: rfc3339(NOON + ((n % days) - days) * DAY_MS),
            cluster_id: `byc_${Math.floor(n / days)}`,
            profile: 'byoc_native',
          }),
        )
    })
    await rollEverything(db())
    const range = { from: rfc3339(NOON - 30 * DAY_MS), to: rfc3339(NOON) }
    const query = { step: 'day', profile: 'byoc_native', ...range } as const
    const { value, turns } = await turnsDuring(db(), (on) =>
      usageTimeline(on).steps(project_id, timelineQuestion(query)),
    )
    expect(value.data.reduce((sum, { requests }) => sum + requests, 0)).toBe(clusters * days)
    expect(turns).toBeGreaterThanOrEqual((clusters * days) / 100)
  })
})
