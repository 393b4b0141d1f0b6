// R71: what deadlines may make free of charge, to the micro, by any number of streams and replicas at once.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { countStatements, mutateSql, type Tampering, tamperedDb } from '../../test/support/tampered-db.ts'
import { rollEverything } from '../../test/support/usage-answers.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { DAY_MS, MINUTE_MS, rfc3339 } from '../core/clock.ts'
import { type Db, sql } from '../storage/db.ts'
import { usageStore } from '../usage/usage-store.ts'
import { waivers } from './waiver-store.ts'

const SETTINGS = { deadlines: { waiver_micros: 1_000, waiver_pct: 10 } }

withDb((db) => {
  async function waivedOf(project_id: string) {
    const [row] = await db().rows<{ waived_micros: number; waived_day: string | null }>(sql`
      SELECT waived_micros, waived_day FROM project WHERE id = ${project_id}`)
    return row
  }

  /** A hundred at once, on two processes; how many of them were let off. */
  async function race(on: Db, project_id: string, micros: number): Promise<number> {
    const processes = [waivers(on, SETTINGS), waivers(on, SETTINGS)]
    const asked = Array.from({ length: 100 }, (_, n) => processes[n % 2]?.take(project_id, micros, NOON))
    return (await Promise.all(asked)).filter((taken) => taken).length
  }

  async function charge(project_id: string, charged_micros: number, at = NOON) {
    await usageStore(db()).insert(usageEvent(project_id, { charged_micros, created_at: rfc3339(at) }))
  }

  test('R71 a hundred at once take what is there, and not a micro more', async () => {
    const project_id = await projectIn(db())
    expect(await race(db(), project_id, 30)).toBe(33)
    expect(await waivedOf(project_id)).toEqual({ waived_micros: 990, waived_day: rfc3339(NOON).slice(0, 10) })
    const one = waivers(db(), SETTINGS)
    expect([await one.take(project_id, 11, NOON), await one.take(project_id, 10, NOON)]).toEqual([false, true])
    expect((await waivedOf(project_id))?.waived_micros).toBe(1_000)
  })

  test('R71 planted: a waiver without a bound is noticed', async () => {
    const project_id = await projectIn(db())
    const tampering: Tampering = {}
    mutateSql(tampering, /OR 100 \* \(/, 'OR 0 * (')
    expect(await race(tamperedDb(db(), tampering), project_id, 30)).toBe(100)
  })

  test('R71 a share of the day’s charges, where that is more; other projects’ and other days’ are not in it', async () => {
    const [project_id, other] = [await projectIn(db()), await projectIn(db())]
    await charge(project_id, 15_005)
    await charge(project_id, 900_000, NOON - DAY_MS)
    await charge(other, 900_000)
    const one = waivers(db(), SETTINGS)
    expect(await one.take(project_id, 1_001, NOON)).toBe(false) // nothing is rolled up yet
    await rollEverything(db())
    expect(await one.take(project_id, 1_500, NOON)).toBe(true)
    expect(await one.take(project_id, 1, NOON)).toBe(false)
  })

  test('R71 each day has its own, and a clock that is behind does not bring the last one back', async () => {
    const project_id = await projectIn(db())
    const one = waivers(db(), SETTINGS)
    expect(await one.take(project_id, 1_000, NOON)).toBe(true)
    expect(await one.take(project_id, 1_000, NOON + DAY_MS)).toBe(true)
    expect(await one.take(project_id, 1, NOON)).toBe(false)
    expect(await one.take(project_id, 1, NOON + DAY_MS)).toBe(false)
    expect(await one.take(project_id, 1_000, NOON + 2 * DAY_MS)).toBe(true)
  })

  test('R83 terms that a reload has changed hold from then on', async () => {
    const project_id = await projectIn(db())
    const settings = { ...SETTINGS }
    const one = waivers(db(), settings)
    expect(await one.take(project_id, 1_000, NOON)).toBe(true)
    settings.deadlines = { waiver_micros: 1_001, waiver_pct: 0 }
    expect([await one.take(project_id, 2, NOON), await one.take(project_id, 1, NOON)]).toEqual([false, true])
  })

  test('R71 what the last refusal told is known for a minute, and asks nobody', async () => {
    const project_id = await projectIn(db())
    const tampering: Tampering = {}
    const counted = countStatements(tampering)
    const one = waivers(tamperedDb(db(), tampering), SETTINGS)
    expect(one.mayHave(project_id, 1_000_000, NOON)).toBe(true) // nobody has said otherwise
    await one.take(project_id, 900, NOON)
    await one.take(project_id, 200, NOON)
    const asked = await counted.while(async () => {
      expect(one.mayHave(project_id, 100, NOON)).toBe(true)
      expect(one.mayHave(project_id, 101, NOON)).toBe(false)
      expect(one.mayHave(project_id, 101, NOON + MINUTE_MS + 1)).toBe(true)
      expect(one.mayHave(project_id, 101, NOON + DAY_MS)).toBe(true)
    })
    expect(asked).toEqual([])
  })
})
