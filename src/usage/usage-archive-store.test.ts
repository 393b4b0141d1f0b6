// Months and retention: where events lie, when they go, and what stays.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { ENGINE, withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { expectedGroups, rollEverything, shownGroups } from '../../test/support/usage-answers.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { DAY_MS, HOUR_MS, rfc3339 } from '../core/clock.ts'
import { newTraceId } from '../core/ids.ts'
import { sql } from '../storage/db.ts'
import { usageArchive } from './usage-archive-store.ts'
import type { UsageEvent } from './usage-event.ts'
import { monthNamed, monthOf } from './usage-month.ts'
import { usageQuestion } from './usage-query.ts'
import { FINEST_CUBES } from './usage-rollup.ts'
import { usageStore } from './usage-store.ts'

test('§8.2 months follow each other, also over the turn of the year, and are known by their names', () => {
  const december = monthOf(Date.UTC(2026, 11, 31, 23, 59, 59, 999))
  expect([december.name, december.end_ms]).toEqual(['usage_event_2026_12', Date.UTC(2027, 0, 1)])
  expect(monthOf(december.start_ms, 1)).toEqual(monthOf(Date.UTC(2027, 0, 15)))
  expect(monthOf(december.start_ms, 1).first).toBe(december.end)
  expect(monthNamed('usage_event_2026_12')).toEqual(december)
  expect(['usage_event_rest', 'usage_event_2026_12_by_key'].map(monthNamed)).toEqual([undefined, undefined])
  const [first, last] = [newTraceId(december.start_ms), newTraceId(december.end_ms - 1)]
  expect(first >= december.first && first < last && last < december.end).toBe(true)
})

withDb((db) => {
  const at = (project_id: string, days: number, more: Partial<UsageEvent> = {}) => {
    const time_ms = NOON + days * DAY_MS
    return usageEvent(project_id, { trace_id: newTraceId(time_ms), created_at: rfc3339(time_ms), ...more })
  }

  async function used(...events: UsageEvent[]): Promise<void> {
    for (const event of events) await usageStore(db()).insert(event)
  }

  const partitionsWith = async (project_id: string) =>
    (
      await db().rows<{ name: string }>(sql`
        SELECT DISTINCT tableoid::regclass::text AS name FROM usage_event WHERE project_id = ${project_id} ORDER BY 1`)
    ).map(({ name }) => name)

  const left = async (project_id: string) =>
    (await usageStore(db()).list(project_id, usageQuestion({}))).data.map(({ trace_id }) => trace_id)

  test.runIf(ENGINE === 'postgres')('§8.2 months are made ahead, once, and take over what came too early', async () => {
    const project_id = await projectIn(db())
    const early = [at(project_id, 0), at(project_id, 31), at(project_id, 400), usageEvent(project_id)]
    await used(...early)
    expect(await partitionsWith(project_id)).toEqual(['usage_event_rest'])
    const made = await usageArchive(db()).makeMonths(NOON)
    expect(made).toEqual(['usage_event_2026_11', 'usage_event_2026_12', 'usage_event_2027_01'])
    expect(await usageArchive(db()).makeMonths(NOON)).toEqual([])
    expect(await partitionsWith(project_id)).toEqual(['usage_event_2026_11', 'usage_event_2026_12', 'usage_event_rest'])
    expect((await left(project_id)).sort()).toEqual(early.map(({ trace_id }) => trace_id).sort())
    await used(at(project_id, 60))
    expect(await partitionsWith(project_id)).toContain('usage_event_2027_01')
    await rollEverything(db())
    const [total] = (await usageStore(db()).grouped(project_id, usageQuestion({ group_by: 'profile' }))).data
    expect(total?.events).toBe(5) // moving an event to its month does not note it a second time
  })

  // A retry may come in another month than the first try: its time differs, its trace id does not.
  test('R43 a second event under one trace id is refused whichever month it says it is of', async () => {
    const project_id = await projectIn(db())
    await usageArchive(db()).makeMonths(NOON)
    const first = at(project_id, 0)
    await used(first)
    for (const days of [0, 40, 400]) {
      const again = { ...first, created_at: rfc3339(NOON + days * DAY_MS), charged_micros: 9 }
      await expect(usageStore(db()).insert(again)).rejects.toThrow()
    }
    await used(usageEvent(project_id, { trace_id: `trc_any ${project_id}` }))
    await expect(used(usageEvent(project_id, { trace_id: `trc_any ${project_id}` }))).rejects.toThrow()
    expect(await left(project_id)).toHaveLength(2)
  })

  const expireAll = async (days: number, now: number) => {
    for (let step = 0; step < 100 && (await usageArchive(db()).expire(days, now)); step++);
  }

  test('§8.2 what is too old goes, what it adds up to stays, and so does what is not rolled up yet', async () => {
    const project_id = await projectIn(db())
    await usageArchive(db()).makeMonths(NOON)
    const old = Array.from({ length: 12 }, (_, n) => at(project_id, n))
    const events = [...old, at(project_id, 50)]
    await used(...events)
    const now = NOON + 100 * DAY_MS
    await expireAll(60, now)
    expect(await left(project_id)).toHaveLength(13) // nothing of it is rolled up

    await rollEverything(db())
    const question = usageQuestion({ group_by: 'day,model' })
    const before = shownGroups((await usageStore(db()).grouped(project_id, question)).data)
    await expireAll(60, now)
    expect(await left(project_id)).toEqual([events[12]?.trace_id])
    const after = shownGroups((await usageStore(db()).grouped(project_id, question)).data)
    expect(after).toEqual(before)
    expect(after).toEqual(expectedGroups(events, question))
  })

  test('§8.2 the finest roll-ups go with the events that they stand in for, and no other ones do', async () => {
    const project_id = await projectIn(db())
    await used(at(project_id, 0), at(project_id, 50))
    await rollEverything(db())
    const cubesAt = async (days: number) =>
      (
        await db().rows<{ cube: string }>(sql`
          SELECT cube FROM usage_rollup WHERE project_id = ${project_id} AND day = ${rfc3339(NOON + days * DAY_MS).slice(0, 10)}
          ORDER BY cube`)
      ).map(({ cube }) => cube)
    const all = await cubesAt(0)
    expect(all).toHaveLength(12)
    await expireAll(60, NOON + 100 * DAY_MS)
    expect(await cubesAt(0)).toEqual(all.filter((cube) => !FINEST_CUBES.includes(cube)))
    expect(await cubesAt(50)).toEqual(all)
  })

  test('§8.2 what is young enough to be kept is counted, though the roll-up that it is in began before', async () => {
    const project_id = await projectIn(db())
    const [now, hours] = [NOON + 60 * DAY_MS, (n: number) => rfc3339(NOON + n * HOUR_MS)]
    const kept = at(project_id, 0, { created_at: hours(3) }) // at three, in the roll-up from noon to six
    await used(kept)
    await rollEverything(db())
    await expireAll(60, now + 2 * HOUR_MS)
    expect(await left(project_id)).toEqual([kept.trace_id])
    for (const group_by of ['key_id,model', 'day']) {
      const question = usageQuestion({ group_by, from: hours(-30), to: hours(7.3) })
      const shown = shownGroups((await usageStore(db()).grouped(project_id, question)).data)
      expect(shown).toEqual(expectedGroups([kept], question))
    }
  })

  test('§8.2 nothing goes a day too early, and events that fit no month go too', async () => {
    const project_id = await projectIn(db())
    const [older, younger] = [usageEvent(project_id), usageEvent(project_id, { created_at: rfc3339(NOON + DAY_MS) })]
    await used(older, younger)
    await rollEverything(db())
    await expireAll(30, NOON + 30 * DAY_MS)
    expect(await left(project_id)).toHaveLength(2)
    await expireAll(30, NOON + 30 * DAY_MS + 1)
    expect(await left(project_id)).toEqual([younger.trace_id])
  })

  test.runIf(ENGINE === 'postgres')(
    '§8.2 a month goes whole, and not while one event of it is young enough',
    async () => {
      const project_id = await projectIn(db())
      await usageArchive(db()).makeMonths(NOON - 400 * DAY_MS)
      const month = monthOf(NOON - 400 * DAY_MS)
      const late = { created_at: rfc3339(NOON) } // settled long after it began
      await used(at(project_id, -400), at(project_id, -400, late))
      await rollEverything(db())
      await expireAll(60, NOON + DAY_MS)
      expect(await partitionsWith(project_id)).toContain(month.name)
      await expireAll(60, NOON + 61 * DAY_MS)
      expect(await partitionsWith(project_id)).not.toContain(month.name)
      expect(await left(project_id)).toEqual([])
      await used(at(project_id, -400)) // what comes for a month that is gone is kept all the same
      expect(await left(project_id)).toHaveLength(1)
    },
  )
})
