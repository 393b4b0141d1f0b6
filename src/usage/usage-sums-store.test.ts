// R78: the ends of a range, where no roll-up lies whole, may have any number of events: they are read in windows, too.
import { beforeAll, expect, test } from 'vitest'
import { allOf } from '../../test/support/batches.ts'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { expectedGroups, rollEverything, rollSome, shownGroups } from '../../test/support/usage-answers.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { countingEvents, insertAll, replayKeyOf, WINDOW_MOST } from '../../test/support/usage-windows.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, rfc3339 } from '../core/clock.ts'
import { newTraceId } from '../core/ids.ts'
import { operatorUsageQuestion } from './operator-usage.ts'
import { operatorUsageStore } from './operator-usage-store.ts'
import { outcomeStore } from './outcome-store.ts'
import type { UsageEvent } from './usage-event.ts'
import { outcomeQuestion } from './usage-outcomes.ts'
import { usageQuestion } from './usage-query.ts'
import { usageStore } from './usage-store.ts'
import { timelineQuestion } from './usage-timeline.ts'
import { usageTimeline } from './usage-timeline-store.ts'

const EVENTS = 5_200

withDb((db) => {
  let project_id: string
  let replay: string
  let events: UsageEvent[]

  /** Two crowded minutes, at four past noon on two days; and some between them. A few are not rolled up. */
  beforeAll(async () => {
    project_id = await projectIn(db())
    replay = await replayKeyOf(db(), project_id)
    const minute = NOON + 4 * MINUTE_MS
    const timeOf = (n: number) => minute + (n % 26) * 2 + (n % 2) * DAY_MS + (n % 40 === 0 ? HOUR_MS * (n % 24) : n * 9)
    events = Array.from({ length: EVENTS }, (_, n) =>
      usageEvent(project_id, {
        created_at: rfc3339(timeOf(n)),
        key_id: n % 5 === 0 ? replay : `key_${n % 3}`,
        resolved_model: `m${n % 2}`,
        provider: `p${n % 3}`,
        status: n % 9 === 0 ? 'failed' : 'completed',
        charged_micros: n,
        ...(n % 50 === 1 && { bundle_id: 'bnd_1', tags: { team: 'search' } }),
      }),
    )
    await insertAll(db(), events)
    await rollSome(db(), EVENTS - 20)
  })

  /** The same in another project, where most have a tag and a bundle. */
  let mostTagged: ReturnType<typeof tagMost> | undefined
  async function tagMost() {
    const crowded_id = await projectIn(db())
    const tagged = events.map((event, n) =>
      usageEvent(crowded_id, {
        ...event,
        trace_id: newTraceId(NOON + n),
        project_id: crowded_id,
        ...(n % 50 !== 1 && { bundle_id: 'bnd_1', tags: { team: 'search' } }),
      }),
    )
    await insertAll(db(), tagged)
    await rollEverything(db())
    return { crowded_id, tagged }
  }

  const RANGE = { from: rfc3339(NOON + 4 * MINUTE_MS - 1), to: rfc3339(NOON + DAY_MS + 5 * MINUTE_MS - 1) }
  const isOwn = ({ key_id }: UsageEvent) => key_id !== replay

  test.each([
    ['day', {}],
    ['key_id', {}],
    ['model', {}],
    ['provider', {}],
    ['model,provider', {}],
    ['day,key_id,model', {}],
    ['model', { replays: 'exclude' }],
    ['model,provider', { replays: 'exclude' }],
    ['key_id', { replays: 'exclude' }],
    ['tag:team', {}],
    ['model,bundle_id', { replays: 'exclude' }],
    ['model', { key_id: 'key_1' }],
  ] as const)('R78 by %s of %j: crowded ends are told in windows, and nothing is left out', async (group_by, query) => {
    const question = usageQuestion({ ...RANGE, ...query, group_by })
    const look = async () => {
      const { db: counted, most } = countingEvents(db())
      const { data } = await usageStore(counted).grouped(project_id, { ...question, limit: 10_000 })
      const counting = 'replays' in query ? events.filter(isOwn) : events
      expect(shownGroups(data)).toEqual(expectedGroups(counting, question))
      expect(most()).toBeLessThanOrEqual(WINDOW_MOST)
      const page = (await usageStore(db()).grouped(project_id, { ...question, limit: 1 })).data
      expect(page).toEqual(data.slice(0, 1))
    }
    await look()
    await rollEverything(db())
    await look()
  })

  test.each(['tag:team', 'model,provider,tag:team', 'model,provider,bundle_id', 'key_id,model,tag:team'])(
    'R43, R78 by %s, where most of what is at crowded ends has a tag and a bundle: each is told once',
    async (group_by) => {
      mostTagged ??= tagMost()
      const { crowded_id, tagged } = await mostTagged
      const question = usageQuestion({ ...RANGE, group_by })
      const { data } = await usageStore(db()).grouped(crowded_id, { ...question, limit: 10_000 })
      expect(shownGroups(data)).toEqual(expectedGroups(tagged, question))
    },
  )

  test('R78 the operator’s sums of a project, too, where nothing tells groups apart', async () => {
    const { db: counted, most } = countingEvents(db())
    const question = operatorUsageQuestion({ ...RANGE, project_id })
    const [row] = await allOf(operatorUsageStore(counted).byProject(question))
    const inside = events.filter(({ created_at }) => created_at >= RANGE.from && created_at < RANGE.to)
    expect(row?.events).toBe(inside.length)
    expect(most()).toBeLessThanOrEqual(WINDOW_MOST)
  })

  test('R78 a timeline and outcomes with crowded ends: each statement tells of a window at most', async () => {
    const { db: counted, most } = countingEvents(db())
    const inside = events.filter(({ created_at }) => created_at >= RANGE.from && created_at < RANGE.to)
    const steps = (await usageTimeline(counted).steps(project_id, timelineQuestion({ ...RANGE, step: 'hour' }))).data
    expect(steps.reduce((sum, { requests }) => sum + requests, 0)).toBe(inside.length)
    const question = outcomeQuestion({ ...RANGE, group_by: 'model' })
    const told = await outcomeStore(counted).outcomes(project_id, question)
    const ofModel = (name: string) => inside.filter(({ resolved_model }) => resolved_model === name)
    const failed = (name: string) => ofModel(name).filter(({ status }) => status === 'failed').length
    const expected = ['m0', 'm1'].map((name) => [name, ofModel(name).length, failed(name)])
    expect(told.map(({ name, requests, failed: of }) => [name, requests, of]).toSorted()).toEqual(expected)
    const by_key = { group_by: 'key_id', name: ['key_1', 'key_2', 'none'] }
    const keys = await outcomeStore(counted).outcomes(project_id, outcomeQuestion({ ...RANGE, ...by_key }))
    const ofKey = (name: string) => inside.filter(({ key_id }) => key_id === name).length
    const names = ['key_0', 'key_1', 'key_2', replay]
    expect(keys.map(({ name, requests }) => [name, requests]).toSorted()).toEqual(names.map((n) => [n, ofKey(n)]))
    const one = await outcomeStore(counted).outcomes(
      project_id,
      outcomeQuestion({ ...RANGE, ...by_key, key_id: 'key_1' }),
    )
    expect(one.map(({ name, requests }) => [name, requests])).toEqual([['key_1', ofKey('key_1')]])
    expect(most()).toBeLessThanOrEqual(3 * WINDOW_MOST) // by status and in two histograms, each is told
  })
})
