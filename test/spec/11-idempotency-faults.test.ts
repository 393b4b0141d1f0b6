// §11 when things go wrong: many at once, clients that leave, processes that die, a COMMIT nobody heard of, time.
import { describe, expect, test } from 'vitest'
import { HOUR_MS, SECOND_MS } from '../../src/core/clock.ts'
import { digest } from '../../src/idempotency/idempotency.ts'
import { type Sql, unavailable } from '../../src/storage/db.ts'
import { ENGINE } from '../support/databases.ts'
import { naiveIdempotency } from '../support/naive-idempotency.ts'
import { type Answer, startService, type TestProject, type TestService, withService } from '../support/service.ts'
import {
  cutOffNextCommit,
  deferred,
  holdNextTransaction,
  type Tampering,
  takeAway,
  textOf,
} from '../support/tampered-db.ts'

const CLUSTERS = '/v2/byoc/clusters'
const KEY = 'agent-idempotency-key'
const atlas = { name: 'atlas', region: 'eu' }
const outcome = ({ status, headers }: Pick<Answer, 'status' | 'headers'>) => [
  status,
  headers['agent-idempotent-replay'],
]
const clusters = async ({ get }: Pick<TestProject, 'get'>) => (await get(CLUSTERS)).body.data.length

withService(
  (service) => {
    const create = ({ post }: TestProject, key: string, body: object = atlas) => post(CLUSTERS, body, { [KEY]: key })

    test('T-02 of sixteen at once one runs, fifteen get 409 at once, and a retry is a replay', async () => {
      const home = await service().newProject()
      const held = holdNextTransaction(service().tampering)
      const first = create(home, 'a')
      await held.entered
      const others = await Promise.all(Array.from({ length: 15 }, () => create(home, 'a')))
      expect(others.map(outcome)).toEqual(Array(15).fill([409, 'false']))
      for (const { body } of others)
        expect(body.error).toEqual({ type: 'idempotency_conflict', message: expect.stringContaining('in progress') })
      held.release()
      expect(outcome(await first)).toEqual([200, 'false'])
      expect(outcome(await create(home, 'a'))).toEqual([200, 'true'])
      expect(await clusters(home)).toBe(1)
    })

    test('T-02 fifty at once, nothing held: one effect, and every answer is it, its replay, or 409', async () => {
      const home = await service().newProject()
      const answers = await Promise.all(Array.from({ length: 50 }, () => create(home, 'a')))
      expect(answers.filter((one) => outcome(one).join() === '200,false')).toHaveLength(1)
      for (const one of answers) expect(['200,false', '200,true', '409,false']).toContain(outcome(one).join())
      expect(await clusters(home)).toBe(1)
    })

    test('T-02 planted: idempotency without a marker runs all sixteen', async () => {
      const everyoneIsIn = deferred()
      let inside = 0
      const { app, effects } = naiveIdempotency('no marker', () => {
        if (++inside === 16) everyoneIsIn.resolve()
        return everyoneIsIn.promise
      })
      const headers = { [KEY]: 'a', 'content-type': 'application/json' }
      const asked = Array.from({ length: 16 }, () =>
        app.inject({ method: 'POST', url: CLUSTERS, headers, payload: '{"name":"a"}' }),
      )
      await Promise.all(asked)
      expect(await effects()).toBe(16)
    })

    if (ENGINE === 'postgres')
      test('T-02 on another replica too: 409 at once, never a wait', async () => {
        const home = await service().newProject()
        const replica = (await service().startProcess('replica')).as(home.key)
        const held = holdNextTransaction(service().tampering)
        const first = create(home, 'a')
        await held.entered
        expect(outcome(await replica.post(CLUSTERS, atlas, { [KEY]: 'a' }))).toEqual([409, 'false'])
        held.release()
        expect(outcome(await first)).toEqual([200, 'false'])
        expect(outcome(await replica.post(CLUSTERS, atlas, { [KEY]: 'a' }))).toEqual([200, 'true'])
        expect(await clusters(home)).toBe(1)
      })

    test('T-20 the client leaves before the answer: the work is finished, and the retry is its replay', async () => {
      const home = await service().newProject()
      const { open } = await service().listen()
      const held = holdNextTransaction(service().tampering)
      const socket = await open()
      const body = JSON.stringify(atlas)
      socket.write(
        `POST ${CLUSTERS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${home.key}\r\nContent-Type: application/json\r\n` +
          `Agent-Idempotency-Key: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      )
      await held.entered
      socket.resetAndDestroy()
      held.release()
      await held.settled
      expect(outcome(await create(home, 'a'))).toEqual([200, 'true'])
      expect(await clusters(home)).toBe(1)
    })

    describe('T-104 a COMMIT that nobody heard of', () => {
      test('T-104 it happened: the answer is read back and sent, as executed', async () => {
        const home = await service().newProject()
        cutOffNextCommit(service().tampering, true)
        const first = await create(home, 'a')
        expect(outcome(first)).toEqual([200, 'false'])
        const again = await create(home, 'a')
        expect([...outcome(again), again.bytes.equals(first.bytes)]).toEqual([200, 'true', true])
        expect(await clusters(home)).toBe(1)
      })

      test('T-104 it did not: 503, nothing is stored, and the retry executes', async () => {
        const home = await service().newProject()
        cutOffNextCommit(service().tampering, false)
        const answer = await service().storingNothing(() => create(home, 'a'))
        expect([answer.status, answer.body.error.code]).toEqual([503, 'unavailable'])
        expect(outcome(await create(home, 'a'))).toEqual([200, 'false'])
        expect(await clusters(home)).toBe(1)
      })

      test('T-104 it happened, and the store stays away: 503, and the retry is a replay', async () => {
        const home = await service().newProject()
        const { tampering } = service()
        let bringBack = () => {}
        tampering.transaction = async (work, begin) => {
          await begin(work)
          bringBack = takeAway(tampering)
          throw unavailable(new Error('connection lost'))
        }
        expect((await create(home, 'a')).status).toBe(503)
        bringBack()
        expect(outcome(await create(home, 'a'))).toEqual([200, 'true'])
        expect(await clusters(home)).toBe(1)
      })
    })

    test('T-26 where the answer cannot be kept, the effect has not happened either', async () => {
      const home = await service().newProject()
      const { tampering } = service()
      tampering.rows = (statement, run) =>
        textOf(statement).startsWith('INSERT INTO idempotency')
          ? Promise.reject(unavailable(new Error('disk full')))
          : run(statement)
      const answer = await service().storingNothing(() => create(home, 'a'))
      tampering.rows = undefined
      expect(answer.status).toBe(503)
      expect(outcome(await create(home, 'a'))).toEqual([200, 'false'])
      expect(await clusters(home)).toBe(1)
    })

    /** The process dies after its transaction, before its answer; another one gets the retry. */
    async function effectsOfACrash(of: TestService): Promise<{ effects: number; retry: unknown[] }> {
      const home = await of.newProject()
      const inner = of.tampering.transaction
      of.tampering.transaction = async (work, begin) => {
        of.tampering.transaction = inner
        await begin(work)
        throw unavailable(new Error('killed'))
      }
      await create(home, 'a')
      const next = (await of.startProcess('the next')).as(home.key)
      return { retry: outcome(await next.post(CLUSTERS, atlas, { [KEY]: 'a' })), effects: await clusters(home) }
    }

    test('T-21, R21 killed between commit and answer: the retry is a replay in another process', async () => {
      expect(await effectsOfACrash(service())).toEqual({ retry: [200, 'true'], effects: 1 })
    })

    test('R21 planted: doing first and keeping later is caught', async () => {
      const tampering: Tampering = {}
      const broken = await startService({ tampering })
      const later: Sql[] = []
      tampering.rows = async (statement, run) => {
        if (!textOf(statement).startsWith('INSERT INTO idempotency')) return run(statement)
        later.push(statement) // a real bug would write it after the commit; the crash comes before that
        return [{ digest: '' }]
      }
      expect(await effectsOfACrash(broken)).toEqual({ retry: [200, 'false'], effects: 2 })
      expect(later).toHaveLength(2)
    })

    describe('§11.8 reservations of effects outside the database', () => {
      const keyedAs = ({ project }: TestProject, key: string) => ({
        key,
        project_id: project.id,
        digest: digest({ project_id: project.id, route: CLUSTERS, params: {}, key }),
      })

      test('T-22 of a process that died: 409 for 60 s, then the retry executes', async () => {
        const { clock, idempotency, newProject } = service()
        const home = await newProject()
        await idempotency.reserve(keyedAs(home, 'a'), clock.now())
        for (const wait_ms of [0, 30 * SECOND_MS, 30 * SECOND_MS - 1]) {
          clock.advance(wait_ms)
          const answer = await service().storingNothing(() => create(home, 'a'))
          expect(outcome(answer)).toEqual([409, 'false'])
        }
        clock.advance(1)
        expect(outcome(await create(home, 'a'))).toEqual([200, 'false'])
        expect(await clusters(home)).toBe(1)
      })

      test('T-23, R22 of a process that lives: 409 for as long as it works', async () => {
        const { clock, idempotency, housekeep, newProject } = service()
        const home = await newProject()
        await idempotency.reserve(keyedAs(home, 'a'), clock.now())
        for (let passed = 0; passed < 600; passed += 15) {
          clock.advance(15 * SECOND_MS)
          await housekeep('renew reservations')
          expect((await create(home, 'a')).status).toBe(409)
        }
      })

      test('T-24 a zombie cannot put its answer over its heir’s', async () => {
        const { clock, idempotency, newProject } = service()
        const home = await newProject()
        const taken = await idempotency.reserve(keyedAs(home, 'a'), clock.now())
        clock.advance(70 * SECOND_MS)
        const heir = await create(home, 'a')
        if (taken.kind !== 'taken') throw new Error('it was free')
        const late = { status: 200, headers: {}, body: Buffer.from('late') }
        expect(await idempotency.keep(taken.reservation, late, clock.now())).toBe(false)
        await idempotency.release(taken.reservation)
        expect((await create(home, 'a')).bytes.equals(heir.bytes)).toBe(true)
      })
    })

    describe('§11.7 24 hours', () => {
      test.each([false, true])('§11.7 replayed to the last millisecond, then fresh; swept: %s', async (swept) => {
        const { clock, housekeep, newProject } = service()
        const home = await newProject()
        await create(home, 'a')
        clock.advance(24 * HOUR_MS - 1)
        if (swept) await housekeep('sweep kept responses')
        expect(outcome(await create(home, 'a'))).toEqual([200, 'true'])
        clock.advance(1)
        if (swept) await housekeep('sweep kept responses')
        expect(outcome(await create(home, 'a'))).toEqual([200, 'false'])
        expect(await clusters(home)).toBe(2)
      })

      test('§11.7 a replay does not prolong it', async () => {
        const { clock, newProject } = service()
        const home = await newProject()
        await create(home, 'a')
        for (let n = 0; n < 4; n++) {
          clock.advance(6 * HOUR_MS - 1)
          await create(home, 'a')
        }
        clock.advance(4)
        expect(outcome(await create(home, 'a'))).toEqual([200, 'false'])
      })
    })
  },
  { tampering: {} },
)
