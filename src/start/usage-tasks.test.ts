// The tasks as a server runs them: rolled up, let go of, and nobody's spend changed by it.
import { expect, test } from 'vitest'
import { heldClock, NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { DAY_MS, rfc3339 } from '../core/clock.ts'
import { newTraceId } from '../core/ids.ts'
import { sql } from '../storage/db.ts'
import { usageQuestion } from '../usage/usage-query.ts'
import { usageRollups } from '../usage/usage-rollup-store.ts'
import { usageStore } from '../usage/usage-store.ts'
import { usageTasks } from './usage-tasks.ts'

withDb((db) => {
  const told: number[] = []
  const task = (name: string, retention_days?: number) => {
    const tasks = usageTasks({ db: db(), clock: heldClock(), retention_days, onWaiting: (events) => told.push(events) })
    const found = tasks.find((one) => one.name === name)
    if (!found) throw new Error(`no task '${name}'`)
    return found
  }

  test('§8.2 without a setting no event ever goes', () => {
    const names = usageTasks({ db: db(), clock: heldClock() }).map(({ name }) => name)
    expect(names).toEqual(['roll up usage', 'make months for usage'])
  })

  test('§8.2 more than one batch is rolled up and let go of at a turn; spend and sums stay', async () => {
    const project_id = await projectIn(db())
    await task('make months for usage').run()
    const old_ms = NOON - 100 * DAY_MS
    await db().transaction(async (tx) => {
      for (let n = 0; n < 1_100; n++)
        await usageStore(tx).insert(
          usageEvent(project_id, { trace_id: newTraceId(old_ms), created_at: rfc3339(old_ms + n), charged_micros: 3 }),
        )
      await tx.rows(sql`UPDATE project SET spent_micros = 3300 WHERE id = ${project_id}`)
    })
    while ((await usageRollups(db()).waiting()) > 0) await task('roll up usage').run()
    expect(told.at(-1)).toBe(0)
    await task('let old usage go', 30).run()
    const store = usageStore(db())
    expect((await store.list(project_id, usageQuestion({}))).data).toEqual([])
    const [total] = (await store.grouped(project_id, usageQuestion({ group_by: 'profile' }))).data
    expect([total?.events, total?.charged_micros]).toEqual([1_100, 3_300])
    expect(await db().rows(sql`SELECT spent_micros FROM project WHERE id = ${project_id}`)).toEqual([
      { spent_micros: 3_300 },
    ])
  })

  test('§8.2 what waits to be rolled up is told by every turn, by one that fails as well', async () => {
    const project_id = await projectIn(db())
    for (let n = 0; n < 3; n++) await usageStore(db()).insert(usageEvent(project_id))
    await db().rows(sql`ALTER TABLE usage_rollup RENAME TO usage_rollup_away`)
    await expect(task('roll up usage').run()).rejects.toThrow()
    expect(told.at(-1)).toBe(3)
    await db().rows(sql`ALTER TABLE usage_rollup_away RENAME TO usage_rollup`)
    await task('roll up usage').run()
    expect(told.at(-1)).toBe(0)
  })
})
