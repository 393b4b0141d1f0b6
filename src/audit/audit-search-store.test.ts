// R78: who searches a project's audit log waits for others of the same project, and for nobody else.
import { expect, onTestFinished, test, vi } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { ENGINE, withDb } from '../../test/support/databases.ts'
import { plansOf } from '../../test/support/plans.ts'
import { projectIn } from '../../test/support/projects.ts'
import { deferred, type Tampering, tamperedDb } from '../../test/support/tampered-db.ts'
import type { Db } from '../storage/db.ts'
import { entryOf } from './audit.ts'
import { auditStore } from './audit-store.ts'

type Asked = Parameters<ReturnType<typeof auditStore>['listAll']>[1]

const ALL: Asked = {
  action: null,
  actor: null,
  from_ms: 0,
  to_ms: Number.MAX_SAFE_INTEGER,
  after: undefined,
  limit: undefined,
}
const NOBODYS: Asked = { ...ALL, actor: 'key_unknown' }
const AFTER = { created_ms: NOON, sequence: 1, id: 'aud_1' }

async function listed(db: Db, project_id: string, asked: Asked): Promise<number> {
  let entries = 0
  for await (const batch of auditStore(db).listAll(project_id, asked)) entries += batch.length
  return entries
}

withDb((db) => {
  async function projectWithEntry() {
    const project_id = await projectIn(db())
    const deed = { project_id, actor: 'key_1', action: 'POST /v2/api-keys', request_id: 'r' }
    await auditStore(db()).insert(entryOf(deed, NOON))
    return project_id
  }

  test('R78 of one project two statements search at a time; the whole log and other projects do not wait', async () => {
    const [many, other] = [await projectWithEntry(), await projectWithEntry()]
    const tampering: Tampering = {}
    const tampered = tamperedDb(db(), tampering)
    const go = deferred()
    let [reading, most] = [0, 0]
    tampering.rows = async (statement, run) => {
      if (!statement.values.includes(many)) return run(statement)
      most = Math.max(most, ++reading)
      await go.promise
      return run(statement).finally(() => reading--)
    }
    const asked = Array.from({ length: 10 }, () => listed(tampered, many, NOBODYS))
    expect(await listed(tampered, other, NOBODYS)).toBe(0)
    expect([reading, most]).toEqual([2, 2])
    const whole = listed(tampered, many, ALL)
    expect([reading, most]).toEqual([3, 3])
    go.resolve()
    expect(await Promise.all([...asked, whole])).toEqual([...asked.map(() => 0), 1])
    expect([reading, most]).toEqual([0, 3])
  })

  test('R78 who has searched for longer than a page takes reads alone from there on, whichever replicas are asked', async () => {
    const project_id = await projectWithEntry()
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
    for (let n = 0; n < 2; n++) await listed(tamperedDb(db(), tampering), project_id, NOBODYS)
    const own = `audit log of ${project_id}`
    expect(alone).toEqual([undefined, undefined, own, own])
  })

  test.runIf(ENGINE === 'sqlite').each([
    ['whole', ALL],
    ['searched', NOBODYS],
  ])('R78 %s, the log is read by time from a place on', async (_how, asked) => {
    const plans = await plansOf(db(), (on) => listed(on, 'prj_1', { ...asked, after: AFTER }), 'audit_entry')
    expect(plans).not.toEqual([])
    for (const plan of plans)
      expect(plan).toMatch(
        /^SEARCH audit_entry USING INDEX audit_entry_by_time \(project_id=\? AND \(created_ms,sequence\)>\(\?,\?\) AND/,
      )
  })
})
