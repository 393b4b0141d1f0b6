// What is swept while somebody takes it anew: on PostgreSQL a sweep that finds a row as it was waits for whoever changes
// it, and then must look again. Whatever was taken meanwhile is not swept.
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { attemptStore } from '../../src/accounts/attempt-store.ts'
import { FAILED_LOGINS } from '../../src/accounts/attempts.ts'
import { DAY_MS, HOUR_MS } from '../../src/core/clock.ts'
import { sealing } from '../../src/core/sealing.ts'
import { digest, RETENTION_MS } from '../../src/idempotency/idempotency.ts'
import { holder, idempotencyStore } from '../../src/idempotency/idempotency-store.ts'
import { deliveryStore } from '../../src/notifications/delivery-store.ts'
import { LOG_KEPT_MS } from '../../src/notifications/notification-delivery.ts'
import { type Db, sql } from '../../src/storage/db.ts'
import { NOON } from '../support/clock.ts'
import { ENGINE, withDb } from '../support/databases.ts'
import { projectIn } from '../support/projects.ts'
import { deferred } from '../support/tampered-db.ts'
import { doneOrWaiting } from '../support/waiting-locks.ts'

const SEALS = sealing('a secret for tests, 32 characters or more')

withDb((db) => {
  /** What is taken commits once the sweep has found the row as it was before. */
  async function sweptMeanwhile(table: string, take: (tx: Db) => Promise<unknown>, sweep: () => Promise<unknown>) {
    const [taken, found] = [deferred(), deferred()]
    const taking = db().transaction(async (tx) => {
      await take(tx)
      taken.resolve()
      await found.promise
    })
    await taken.promise
    const sweeping = sweep()
    if (ENGINE === 'postgres') await doneOrWaiting(sweeping, db(), table)
    found.resolve()
    await Promise.all([taking, sweeping])
  }

  test('§11.5 a triple that is reserved just when its last answer is swept stays reserved', async () => {
    const key = randomUUID()
    const request = { key, project_id: 'prj_1', digest: digest({ project_id: 'prj_1', route: '/x', params: {}, key }) }
    const on = (which: Db) => idempotencyStore(which, SEALS, holder('one'))
    const answer = { status: 200, headers: {}, body: Buffer.from('{}') }
    await on(db()).keepAtOnce(request, answer, NOON - RETENTION_MS)
    await sweptMeanwhile(
      'idempotency',
      (tx) => on(tx).reserve(request, NOON),
      () => on(db()).sweep(NOON),
    )
    expect((await on(db()).reserve(request, NOON)).kind).toBe('held')
  })

  test('§8 an attempt that takes a slot just when that is swept counts', async () => {
    const later = NOON + HOUR_MS
    await attemptStore(db()).take({ ...FAILED_LOGINS, slots: 1 }, '192.0.2.1', NOON)
    await sweptMeanwhile(
      'attempt_slot',
      (tx) => attemptStore(tx).take({ ...FAILED_LOGINS, slots: 1 }, '192.0.2.1', later),
      () => attemptStore(db()).sweep(later),
    )
    expect(await attemptStore(db()).take({ ...FAILED_LOGINS, slots: 1 }, '192.0.2.1', later)).toBeUndefined()
  })

  test('R70 a delivery that is to be sent again just when the log is swept is sent', async () => {
    const project_id = await projectIn(db())
    await db().rows(sql`
      INSERT INTO notification_delivery (id, project_id, channel_id, event_id, type, subject, sequence, payload, status,
                                         attempts, due_at, expires_at, created_ms)
      VALUES ('dlv_1', ${project_id}, 'nch_1', 'evt_1', 'test', 's', 1, '{}', 'failed', 1, ${NOON}, ${NOON}, ${NOON})`)
    const later = NOON + LOG_KEPT_MS + DAY_MS
    await sweptMeanwhile(
      'notification_delivery',
      (tx) => deliveryStore(tx).again(project_id, 'nch_1', 'dlv_1', later),
      () => deliveryStore(db()).sweep(later),
    )
    expect(await deliveryStore(db()).find(project_id, 'nch_1', 'dlv_1')).toMatchObject({ status: 'waiting' })
  })
})
