// R78: who looks through all of a project's usage waits for others of the same project, and for nobody else.
import { expect, onTestFinished, test, vi } from 'vitest'
import { withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { deferred, type Tampering, tamperedDb } from '../../test/support/tampered-db.ts'
import { usageEvent } from '../../test/support/usage-events.ts'
import { usageQuestion } from './usage-query.ts'
import { usageStore } from './usage-store.ts'

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
