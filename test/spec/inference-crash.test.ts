// R22, R43 when a process dies, or is thought to: its holds come back, its reservations are reclaimed after 60 s, and
// what it finishes too late is discarded and charged to nobody. Two processes here are two services over one store.
import { beforeAll, describe, expect, test } from 'vitest'
import { SECOND_MS } from '../../src/core/clock.ts'
import { sealing } from '../../src/core/sealing.ts'
import { digest } from '../../src/idempotency/idempotency.ts'
import { holder, idempotencyStore } from '../../src/idempotency/idempotency-store.ts'
import { startServer } from '../../src/main.ts'
import { openStore } from '../../src/start/open-store.ts'
import { type OpenDb, sql } from '../../src/storage/db.ts'
import { ENGINE } from '../support/databases.ts'
import { asked, envelope, KEY, KEYED, lastEvent, PLAIN, TEXT } from '../support/inference-cases.ts'
import { type Heard, moneyIn, openCall, saidIn } from '../support/inference-client.ts'
import { anotherProcess, CHAT, type Stage, USUAL_COST, withScene } from '../support/inference-scene.ts'
import { SECRET } from '../support/service.ts'
import { newSettings } from '../support/settings.ts'
import { deferred, takeAway } from '../support/tampered-db.ts'

const LIMIT = 1_000_000

withScene(
  (scene) => {
    let heir: Awaited<ReturnType<typeof anotherProcess>>
    beforeAll(async () => {
      heir = await anotherProcess(scene(), 'heir')
    })

    /** The same call as `asked`, at another process. */
    async function atAnother(stage: Stage, origin: string, stream: boolean): Promise<Heard> {
      const headers = { authorization: `Bearer ${stage.key}`, 'agent-idempotency-key': KEY }
      return openCall(origin, CHAT, { body: stage.bodyOf(stream ? { stream } : {}), headers }).heard
    }

    describe('R22 a process that is thought dead', () => {
      test.each(KEYED)(
        'R22 after 60 s another executes; the late one discards its result, and nobody pays twice: $form',
        async (one) => {
          const stage = await scene().stage({ key: LIMIT })
          const gate = deferred()
          stage.one.next(
            one.stream ? { pace: (event) => (event === 2 ? gate.promise : undefined) } : { wait: gate.promise },
          )
          const late = stage.openChat(...asked(one))
          await stage.one.request(1)
          if (one.stream) await late.says('Hello fr')

          scene().clock.advance(60 * SECOND_MS - 1)
          expect((await atAnother(stage, heir.origin, one.stream)).status).toBe(409)
          scene().clock.advance(1)
          const taken = await atAnother(stage, heir.origin, one.stream)
          expect([taken.status, taken.headers['agent-idempotent-replay']]).toEqual([200, 'false'])
          expect(moneyIn(taken)).toBe(USUAL_COST)

          gate.resolve()
          const heard = await late.heard
          if (one.stream) expect(lastEvent(heard).error.type).toBe('idempotency_conflict')
          else expect(envelope(heard)).toEqual([409, 'idempotency_conflict', undefined])
          expect(moneyIn(heard)).toBeUndefined()

          await stage.until(({ holds }) => holds.length === 0)
          const { events, spent } = await stage.audit()
          expect([events.length, spent]).toEqual([1, USUAL_COST])
          expect(events[0]?.trace_id).toBe(taken.headers['agent-trace-id'])
          const again = await stage.chat(...asked(one))
          expect([again.headers['agent-idempotent-replay'], again.bytes.equals(taken.bytes)]).toEqual(['true', true])
        },
      )

      test('R22 one that lives, and says so, keeps its reservation for as long as it works', async () => {
        const stage = await scene().stage({ key: LIMIT })
        const gate = deferred()
        stage.one.next({ wait: gate.promise })
        const working = stage.openChat({}, { keyed: KEY })
        await stage.one.request(1)
        for (let n = 0; n < 20; n++) {
          scene().clock.advance(15 * SECOND_MS)
          await scene().housekeep('renew reservations')
          expect((await atAnother(stage, heir.origin, false)).status).toBe(409)
        }
        gate.resolve()
        expect((await working.heard).status).toBe(200)
        expect((await stage.audit()).spent).toBe(USUAL_COST)
      })

      // The store is away for longer than a reservation lasts, and somebody else takes over: what was put off can then
      // never be written, and must not stay held either.
      test('R22, R43 a charge that was put off and then fenced out gives its hold back', async () => {
        const stage = await scene().stage({ key: LIMIT })
        const gate = deferred()
        stage.one.next({ pace: (event) => (event === 2 ? gate.promise : undefined) })
        const call = stage.openChat({ stream: true }, { keyed: KEY })
        await call.says('Hello fr')
        const bringBack = takeAway(scene().tampering)
        gate.resolve()
        expect(saidIn(await call.heard)).toBe(TEXT)
        scene().clock.advance(60 * SECOND_MS)
        const { db, clock } = scene()
        const project_id = stage.project.id
        const keyed = { key: KEY, project_id, digest: digest({ project_id, route: CHAT, params: {}, key: KEY }) }
        const taken = await idempotencyStore(db, sealing(SECRET), holder('heir')).reserve(keyed, clock.now())
        expect(taken.kind).toBe('taken')
        bringBack()
        await stage.until(({ holds }) => holds.length === 0)
        expect((await stage.audit()).events).toEqual([])
      })
    })

    describe('R43 holds', () => {
      test.each(PLAIN)(
        'R43 of a process that died come back after a minute; what it settles late costs nothing: $form',
        async (one) => {
          const stage = await scene().stage({ key: LIMIT })
          const { budgets } = heir.inference
          const gate = deferred()
          await scene().housekeep('heartbeat')
          stage.one.next({ wait: gate.promise })
          const paused = stage.openChat(...asked(one))
          await stage.one.request(1)

          scene().clock.advance(59 * SECOND_MS)
          await budgets.returnOrphans(scene().clock.now())
          expect((await stage.ledger()).holds).toHaveLength(1)
          scene().clock.advance(1 * SECOND_MS)
          await budgets.returnOrphans(scene().clock.now())
          expect(await stage.ledger()).toMatchObject({ held: 0, holds: [] })

          gate.resolve()
          expect(moneyIn(await paused.heard)).toBe(0)
          const { events } = await stage.audit()
          expect(events).toMatchObject([{ status: 'completed', charged_micros: 0, written_off_micros: USUAL_COST }])
        },
      )

      test('R43 a process that goes on saying that it lives keeps its holds', async () => {
        const stage = await scene().stage({ key: LIMIT })
        const gate = deferred()
        stage.one.next({ wait: gate.promise })
        const working = stage.openChat()
        await stage.one.request(1)
        for (let n = 0; n < 5; n++) {
          scene().clock.advance(30 * SECOND_MS)
          await scene().housekeep('heartbeat')
          await heir.inference.budgets.returnOrphans(scene().clock.now())
        }
        expect((await stage.ledger()).holds).toHaveLength(1)
        gate.resolve()
        expect(moneyIn(await working.heard)).toBe(USUAL_COST)
        await stage.audit()
      })

      test('R43 housekeeping collects what others left behind', async () => {
        const stage = await scene().stage({ key: LIMIT })
        const spender = { key_id: stage.key_id, project_id: stage.project.id }
        await heir.inference.budgets.hold(spender, 500, scene().clock.now())
        expect((await stage.ledger()).held).toBe(500)
        await scene().housekeep('return orphaned holds')
        await stage.audit()
      })
    })
  },
  { stages: 10 },
)

test('R43 after a crash, a start returns what was held; on the embedded store at once', async () => {
  const config = await newSettings()
  const quiet = { ...config, port: 0, log_level: 'silent' as const }
  const print = () => {}
  await (await startServer(quiet, { print })).stop(0)
  const clock = { now: () => Date.now() }

  /** Something was held by a process that is no more, though it said that it lived a moment ago. */
  async function crashed(db: OpenDb): Promise<void> {
    await db.rows(sql`UPDATE project SET held_micros = 700`)
    await db.rows(sql`UPDATE api_key SET held_micros = 700`)
    await db.rows(sql`
      INSERT INTO budget_hold (id, key_id, project_id, micros, process, created_at)
      SELECT 'hld_1', k.id, k.project_id, 700, 'dead', 0 FROM api_key k`)
    await db.rows(sql`INSERT INTO live_process (id, beat_at) VALUES ('dead', ${clock.now()})`)
  }
  const heldIn = async (db: OpenDb) =>
    (await db.rows<{ held_micros: number }>(sql`SELECT held_micros FROM api_key`))[0]?.held_micros

  const { db } = await openStore(quiet, clock)
  await crashed(db)
  await db.close()
  await (await startServer(quiet, { print })).stop(0)
  const { db: after } = await openStore(quiet, clock)
  // On PostgreSQL the dead one might be another replica, and is given its minute.
  expect(await heldIn(after)).toBe(ENGINE === 'sqlite' ? 0 : 700)
  await after.close()
})
