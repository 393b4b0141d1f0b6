// §11 as a model: rows that are held or kept, whoever owns them, until when. Posts through two processes on one store,
// with faults around COMMIT; reservations of effects outside the database; crashes; and time.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { registerCluster } from '../../src/clusters/cluster.ts'
import { HOUR_MS, MINUTE_MS } from '../../src/core/clock.ts'
import { sealing } from '../../src/core/sealing.ts'
import { digest, type KeptResponse } from '../../src/idempotency/idempotency.ts'
import {
  holder,
  type IdempotencyStore,
  idempotencyStore,
  type Reservation,
} from '../../src/idempotency/idempotency-store.ts'
import { createKey } from '../../src/keys/key.ts'
import { unavailable } from '../../src/storage/db.ts'
import { ENGINE } from '../support/databases.ts'
import {
  type Answer,
  SECRET,
  startService,
  type TestProject,
  type TestService,
  withService,
} from '../support/service.ts'
import { type Command, command, notices, type Simulation, simulate } from '../support/sim.ts'
import { cutOffNextCommit, mutateSql, type Tampering, tamperedDb, textOf } from '../support/tampered-db.ts'

const HOLD_MS = 60_000
const KEEP_MS = 24 * HOUR_MS
const PATHS = ['/v2/byoc/clusters', '/v2/api-keys'] as const

/** What a handler with effects elsewhere would keep; it looks like the answer of its route. */
function lateAnswer(path: string, now: number): KeptResponse {
  const { api_key, raw } = createKey('prj_x', { name: 'late' }, now)
  const body = path === PATHS[0] ? registerCluster('prj_x', BODIES.good, now) : { ...api_key, key: raw }
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  return { status: 200, headers, body: Buffer.from(JSON.stringify(body)) }
}

interface Row {
  state: 'held' | 'kept'
  owner: number // 0: a post of the service; else the reservation's number
  process: number
  expires_at: number
  /** Undefined where nobody has seen the kept answer yet. */
  bytes?: Buffer | undefined
}

interface Model {
  rows: Map<string, Row>
  effects: Map<string, number>
  reservations: { triple: string; process: number }[]
  /** Counts the lives of the process that makes reservations: it renews only what is of its present life. */
  life: number
}

interface Real {
  service: TestService
  doors: ((raw: string) => ReturnType<TestService['as']>)[]
  projects: [TestProject, TestProject]
  taken: (Reservation | undefined)[]
  storeOf(life: number): IdempotencyStore
}

const bump = (model: Model, place: string) => model.effects.set(place, (model.effects.get(place) ?? 0) + 1)
const outcome = ({ status, headers }: Answer) => `${status} ${headers['agent-idempotent-replay']}`

const where = fc.record({
  by: fc.constantFrom(0, 0, 1),
  path: fc.constantFrom(0, 0, 1),
  key: fc.constantFrom('a', 'b'),
})
type Where = { by: number; path: number; key: string }
const tripleOf = ({ by, path, key }: Where) => `${by} ${path} ${key}`
const urlOf = ({ path }: Where, alias: number) =>
  [PATHS[path], `${PATHS[path]}?x=1`, (PATHS[path] as string).replace('/v2/', '/%762/')][alias] as string

const liveRow = (model: Model, triple: string, now: number) => {
  const row = model.rows.get(triple)
  return row && row.expires_at > now ? row : undefined
}

function expectKept(row: Row, answer: Answer): void {
  expect(outcome(answer)).toBe('200 true')
  if (row.bytes) expect(answer.bytes.equals(row.bytes)).toBe(true)
  row.bytes = answer.bytes
}

async function expectEffects(model: Model, { projects }: Real, { by, path }: Where): Promise<void> {
  const { data } = (await projects[by as 0].get(PATHS[path] as string)).body
  const founding = path === 1 ? 1 : 0 // the key that the project was founded with
  expect(data.length - founding).toBe(model.effects.get(`${by} ${path}`) ?? 0)
}

const FAULTS = ['none', 'none', 'none', 'commit lost', 'commit unheard', 'killed'] as const
const BODIES = { good: { name: 'a', region: 'b' }, other: { name: 'c', region: 'd' }, bad: { name: '' } }
type Cmd = Command<Model, Real>

function plant(fault: (typeof FAULTS)[number], tampering: Tampering): void {
  if (fault === 'commit lost') cutOffNextCommit(tampering, false)
  if (fault === 'commit unheard') cutOffNextCommit(tampering, true)
  if (fault === 'killed')
    tampering.transaction = async (work, begin) => {
      tampering.transaction = undefined
      await begin(work)
      throw unavailable(new Error('killed'))
    }
}

const post = fc
  .record({
    at: where,
    body: fc.constantFrom('good', 'good', 'other', 'bad'),
    fault: fc.constantFrom(...FAULTS),
    door: fc.nat(1),
    alias: fc.nat(2),
  })
  .map(
    ({ at, body, fault, door, alias }): Cmd =>
      command(`post(${tripleOf(at)}, ${body}, ${fault}, door ${door}, alias ${alias})`, async (model, real) => {
        const { clock, tampering } = real.service
        const [triple, now] = [tripleOf(at), clock.now()]
        const row = liveRow(model, triple, now)
        plant(fault, tampering)
        const caller = real.doors[door]?.(real.projects[at.by as 0].key) as ReturnType<TestService['as']>
        const answer = await caller.post(urlOf(at, alias), BODIES[body as 'good'], { 'agent-idempotency-key': at.key })
        tampering.transaction = undefined
        if (row?.state === 'kept') expectKept(row, answer)
        else if (row) expect(outcome(answer)).toBe('409 false')
        else if (body === 'bad') expect(outcome(answer)).toBe('400 false')
        else {
          const answered = fault === 'none' || fault === 'commit unheard'
          expect(outcome(answer)).toBe(answered ? '200 false' : '503 false')
          if (fault !== 'commit lost') {
            bump(model, `${at.by} ${at.path}`)
            const bytes = answered ? answer.bytes : undefined
            model.rows.set(triple, { state: 'kept', owner: 0, process: 0, expires_at: now + KEEP_MS, bytes })
          }
        }
        await expectEffects(model, real, at)
      }),
  )

const burst = fc.tuple(where, fc.integer({ min: 2, max: 6 })).map(
  ([at, count]): Cmd =>
    command(`burst(${tripleOf(at)}, ${count})`, async (model, real) => {
      const [triple, now] = [tripleOf(at), real.service.clock.now()]
      const row = liveRow(model, triple, now)
      const { post: send } = real.projects[at.by as 0]
      const headers = { 'agent-idempotency-key': at.key }
      const answers = await Promise.all(Array.from({ length: count }, () => send(urlOf(at, 0), BODIES.good, headers)))
      if (row?.state === 'kept') for (const answer of answers) expectKept(row, answer)
      else if (row) expect(answers.map(outcome)).toEqual(answers.map(() => '409 false'))
      else {
        const [first, ...more] = answers.filter((answer) => outcome(answer) === '200 false')
        expect([first !== undefined, more.length]).toEqual([true, 0])
        const made: Row = { state: 'kept', owner: 0, process: 0, expires_at: now + KEEP_MS, bytes: first?.bytes }
        for (const answer of answers.filter((one) => one !== first && one.status !== 409)) expectKept(made, answer)
        model.rows.set(triple, made)
        bump(model, `${at.by} ${at.path}`)
      }
      await expectEffects(model, real, at)
    }),
)

const reserve = where.map(
  (at): Cmd =>
    command(`reserve(${tripleOf(at)})`, async (model, { service, projects, taken, storeOf }) => {
      const [triple, now] = [tripleOf(at), service.clock.now()]
      const row = liveRow(model, triple, now)
      const named = {
        project_id: projects[at.by as 0].project.id,
        route: PATHS[at.path] as string,
        params: {},
        key: at.key,
      }
      const got = await storeOf(model.life).reserve(
        { key: at.key, project_id: named.project_id, digest: digest(named) },
        now,
      )
      expect(got.kind).toBe(row?.state ?? 'taken')
      taken.push(got.kind === 'taken' ? got.reservation : undefined)
      model.reservations.push({ triple, process: model.life })
      if (!row)
        model.rows.set(triple, {
          state: 'held',
          owner: model.reservations.length,
          process: model.life,
          expires_at: now + HOLD_MS,
        })
    }),
)

/** Finishing a reservation of any age: only its owner may, as long as nobody took over. */
const finish = fc.tuple(fc.nat(5), fc.constantFrom('keep', 'release')).map(
  ([pick, way]): Cmd =>
    command(`${way}(${pick})`, async (model, { service, taken, storeOf }) => {
      const at = pick % Math.max(1, taken.length)
      const [reservation, meta] = [taken[at], model.reservations[at]]
      if (!reservation || !meta) return
      const row = model.rows.get(meta.triple)
      const owns = row?.state === 'held' && row.owner === at + 1
      const [store, now] = [storeOf(meta.process), service.clock.now()]
      if (way === 'keep') {
        const late = lateAnswer(PATHS[Number(meta.triple.split(' ')[1])] as string, now)
        expect(await store.keep(reservation, late, now)).toBe(owns)
        if (owns) Object.assign(row, { state: 'kept', expires_at: now + KEEP_MS, bytes: late.body })
      } else {
        await store.release(reservation)
        if (owns) model.rows.delete(meta.triple)
      }
    }),
)

const renew = fc.constant(
  command<Model, Real>('renew()', async (model, { service, storeOf }) => {
    await storeOf(model.life).renewAll(service.clock.now())
    for (const row of model.rows.values())
      if (row.state === 'held' && row.process === model.life) row.expires_at = service.clock.now() + HOLD_MS
  }),
)

const crash = fc.constant(command<Model, Real>('crash()', async (model) => void model.life++))

const sweep = fc.constant(
  command<Model, Real>('sweep()', async (model, { service }) => {
    await service.housekeep('sweep kept responses')
    for (const [triple, row] of model.rows) if (row.expires_at <= service.clock.now()) model.rows.delete(triple)
  }),
)

const STEPS = [1, 15_000, HOLD_MS - 1, HOLD_MS, HOUR_MS, KEEP_MS - 1, KEEP_MS]
const advance = fc
  .constantFrom(...STEPS)
  .map((ms): Cmd => command(`advance(${ms})`, async (_model, { service }) => service.clock.advance(ms)))

let histories = 0
const simulation = (
  service: TestService,
  other: Awaited<ReturnType<TestService['startProcess']>>,
): Simulation<Model, Real> => ({
  name: 'idempotency',
  commands: [post, post, post, burst, reserve, reserve, finish, renew, crash, sweep, advance, advance],
  async start() {
    const history = ++histories
    service.clock.advance(MINUTE_MS) // no history uses up what another may ask
    const db = tamperedDb(service.db, { ...service.tampering })
    const lives = new Map<number, IdempotencyStore>()
    const born = (life: number) => idempotencyStore(db, sealing(SECRET), holder(`${history} ${life}`))
    return {
      model: { rows: new Map(), effects: new Map(), reservations: [], life: 1 },
      real: {
        service,
        doors: [service.as, other.as],
        projects: [await service.newProject(), await service.newProject()],
        taken: [],
        storeOf(life) {
          const store = lives.get(life) ?? born(life)
          lives.set(life, store)
          return store
        },
      },
    }
  },
})

withService(
  (service) => {
    test('§11 random histories of retries, faults, crashes and time are what the model says', async () => {
      await simulate(simulation(service(), await service().startProcess('other')))
    })

    // What the model can notice does not depend on the engine.
    if (ENGINE === 'sqlite')
      test.each<[string, (tampering: Tampering) => void]>([
        ['a look-up a millisecond too long', (t) => void mutateSql(t, 'expires_at > ', 'expires_at >= ')],
        ['an owner that is not asked for', (t) => void mutateSql(t, /AND owner = $/, "AND '' <> ")],
        [
          'a renewal that stretches kept answers',
          (t) => void mutateSql(t, /AND state = 'held'$/, '', /^UPDATE idempotency SET expires_at/),
        ],
        ['a release that frees kept answers', (t) => void mutateSql(t, /AND state = 'held'$/, '', /^DELETE/)],
        [
          'an effect without its kept answer',
          (t) => {
            t.rows = async (statement, run) =>
              /^INSERT INTO idempotency/.test(textOf(statement)) && statement.values.length > 5 ? [{}] : run(statement)
          },
        ],
      ])('§11 planted: %s is noticed', async (_bug, breakIt) => {
        const tampering: Tampering = {}
        const broken = await startService({ tampering })
        const other = await broken.startProcess('other')
        breakIt(tampering)
        expect(await notices(simulation(broken, other))).toBe(true)
      })
  },
  { tampering: {} },
)
