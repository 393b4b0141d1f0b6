// R78: who looks through all of a project's usage waits for others of the same project, and for nobody else.
import { expect, onTestFinished, test, vi } from 'vitest'
import { allOf } from '../../test/support/batches.ts'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { deferred, type Tampering, tamperedDb } from '../../test/support/tampered-db.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { DAY_MS, rfc3339 } from '../core/clock.ts'
import type { OpenDb } from '../storage/db.ts'
import { bundleUse } from './bundle-use-store.ts'
import { operatorUsageQuestion } from './operator-usage.ts'
import { operatorUsageStore } from './operator-usage-store.ts'
import { outcomeStore } from './outcome-store.ts'
import { outcomeQuestion } from './usage-outcomes.ts'
import { usageQuestion } from './usage-query.ts'
import { usageStore } from './usage-store.ts'
import { timelineQuestion } from './usage-timeline.ts'
import { usageTimeline } from './usage-timeline-store.ts'

const RANGE = { from: rfc3339(NOON - 5 * DAY_MS - 7), to: rfc3339(NOON + DAY_MS + 7) }
const sumsBy = (group_by: string) => (db: OpenDb, project_id: string) =>
  usageStore(db).grouped(project_id, usageQuestion({ ...RANGE, group_by }))

withDb((db) => {
  test('R78 of one project two statements look through usage at a time, however many ask; those of others do not wait', async () => {
    const [many, other] = [await projectIn(db()), await projectIn(db())]
    for (const project_id of [many, other]) await usageStore(db()).insert(usageEvent(project_id))
    const tampering: Tampering = {}
    const store = usageStore(tamperedDb(db(), tampering))
    const go = deferred()
    let [reading, most] = [0, 0]
    tampering.rows = async (statement, run) => {
      if (!statement.values.includes(many)) return run(statement)
      most = Math.max(most, ++reading)
      await go.promise
      return run(statement).finally(() => reading--)
    }
    const nobodys = usageQuestion({ model: 'nobody-has-it' })
    const sums = usageQuestion({ status: 'completed', group_by: 'model' })
    const asked = [
      ...Array.from({ length: 10 }, () => store.list(many, nobodys)),
      ...Array.from({ length: 10 }, () => store.grouped(many, sums)),
    ]
    expect(await store.list(other, nobodys)).toEqual({ data: [], has_more: false })
    expect((await store.grouped(other, sums)).data).toHaveLength(1)
    expect([reading, most]).toEqual([2, 2])
    go.resolve()
    await Promise.all(asked)
    expect([reading, most]).toEqual([0, 2])
  })

  test.each([
    ['sums by a tag', sumsBy('tag:team')],
    ['sums by bundle', sumsBy('day,bundle_id')],
    ['sums by model', sumsBy('model')],
    ['sums by key', sumsBy('key_id')],
    [
      'sums without replays',
      (db: OpenDb, project_id: string) =>
        usageStore(db).grouped(project_id, usageQuestion({ ...RANGE, group_by: 'model', replays: 'exclude' })),
    ],
    [
      'all sums by day',
      (db: OpenDb, project_id: string) =>
        allOf(usageStore(db).groupedAll(project_id, usageQuestion(RANGE).filter, usageQuestion({ group_by: 'day' }))),
    ],
    [
      'what failed most',
      (db: OpenDb, project_id: string) =>
        outcomeStore(db).outcomes(project_id, outcomeQuestion({ ...RANGE, group_by: 'key_id', name: 'key_1' })),
    ],
    [
      'a timeline out of roll-ups',
      (db: OpenDb, project_id: string) =>
        usageTimeline(db).steps(project_id, timelineQuestion({ ...RANGE, step: 'day' })),
    ],
    [
      'what bundles were used',
      (db: OpenDb, project_id: string) =>
        bundleUse(db, project_id, { from_ms: NOON - DAY_MS, to_ms: NOON + DAY_MS }, 100),
    ],
  ])('R78 %s: two statements of a project at a time, and those of others do not wait', async (_what, ask) => {
    const [many, other] = [await projectIn(db()), await projectIn(db())]
    for (const project_id of [many, other])
      await usageStore(db()).insert(usageEvent(project_id, { bundle_id: 'bnd_1', tags: { team: 'search' } }))
    const tampering: Tampering = {}
    const tampered = tamperedDb(db(), tampering)
    const [first, go] = [deferred(), deferred()]
    let [reading, most] = [0, 0]
    tampering.rows = async (statement, run) => {
      if (!statement.values.includes(many)) return run(statement)
      most = Math.max(most, ++reading)
      if (most === 2) first.resolve()
      await go.promise
      return run(statement).finally(() => reading--)
    }
    const asked = Array.from({ length: 8 }, () => ask(tampered, many))
    await ask(tampered, other)
    await first.promise
    expect([reading, most]).toEqual([2, 2])
    go.resolve()
    await Promise.all(asked)
    expect([reading, most]).toEqual([0, 2])
  })

  test('R78, R79 however many wait to read of a project, the operator’s sums of it go on', async () => {
    const project_id = await projectIn(db())
    await usageStore(db()).insert(usageEvent(project_id, { tags: { team: 'search' } }))
    const tampering: Tampering = {}
    const tampered = tamperedDb(db(), tampering)
    const go = deferred()
    tampering.rows = (statement, run) => go.promise.then(() => run(statement))
    const asked = Array.from({ length: 30 }, () => usageStore(tampered).list(project_id, usageQuestion({ model: 'm' })))
    tampering.rows = undefined
    for (const query of [{ group_by: 'model' }, { tag: 'team=search' }]) {
      const [row] = await allOf(operatorUsageStore(tampered).byProject(operatorUsageQuestion({ ...query, project_id })))
      expect(row?.events).toBe(1)
    }
    go.resolve()
    await Promise.all(asked)
  })

  test('R78 who has read for longer than a page takes reads alone from there on, whichever replicas are asked', async () => {
    const project_id = await projectIn(db())
    await usageStore(db()).insert(usageEvent(project_id))
    const tampering: Tampering = {}
    const time = { now: performance.now() }
    const now = vi.spyOn(performance, 'now').mockImplementation(() => time.now)
    onTestFinished(() => now.mockRestore())
    const alone: (string | undefined)[] = []
    tampering.rows = (statement, run) => {
      alone.push(statement.alone)
      time.now += 200
      return run(statement)
    }
    const store = usageStore(tamperedDb(db(), tampering))
    for (let n = 0; n < 2; n++) await store.list(project_id, usageQuestion({ model: 'nobody-has-it' }))
    const own = `usage of ${project_id}`
    expect(alone).toEqual([undefined, undefined, own, own])
  })
})
