// §8.1 purge jobs over random projects and random filters: what matches is erased, what does not is as it was to the
// byte, and the books are as they were; also where the work is cut off at any step, or two replicas fight over it.
import { hash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rfc3339 } from '../../src/core/clock.ts'
import type { PurgeFilter } from '../../src/purges/purge-job.ts'
import { purgeRun } from '../../src/purges/purge-run-store.ts'
import { erasers as erasersOf } from '../../src/start/erasers.ts'
import { noGateway } from '../../src/start/gateway-settings.ts'
import { housekeepingLeases, LeaseLost, leaseLength, type SharedTask } from '../../src/start/housekeeping-lease.ts'
import { keptQuotas } from '../../src/start/kept-quotas.ts'
import { type Db, type OpenDb, sql } from '../../src/storage/db.ts'
import type { Eraser } from '../../src/storage/erasing.ts'
import { NOON } from '../support/clock.ts'
import { build, contentsOf, expected, type Plot, type World } from '../support/purge-world.ts'
import { type TestProject, type TestService, withService } from '../support/service.ts'

const RUNS = 12
const MINUTE_MS = 60_000

const minutes = fc.integer({ min: -1, max: 6 }).map((n) => (n === 0 ? 7 : n))
const maker = fc.integer({ min: 0, max: 2 })
const plots: fc.Arbitrary<Plot> = fc.record({
  sessions: fc.array(fc.record({ minutes, maker }), { maxLength: 3 }),
  calls: fc.array(
    fc.record({
      minutes,
      maker,
      session: fc.option(fc.integer({ min: 0, max: 2 })),
      stored: fc.boolean(),
      kept: fc.boolean(),
      worded: fc.boolean(),
      recorded: fc.boolean(),
    }),
    { maxLength: 8 },
  ),
  refused: fc.array(fc.record({ minutes, maker }), { maxLength: 2 }),
  artifacts: fc.array(fc.record({ minutes, makers: fc.array(maker, { minLength: 1, maxLength: 2 }) }), {
    maxLength: 3,
  }),
  bundles: fc.array(
    fc.record({ minutes, maker, artifacts: fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 3 }) }),
    { maxLength: 2 },
  ),
})

/** By numbers, which the world turns into ids. */
interface Drawn {
  lists: {
    session_ids: number[]
    response_ids: number[]
    trace_ids: number[]
    artifact_ids: number[]
    bundle_ids: number[]
  }
  key: number | null
  range: [number, number] | null
  kinds: boolean[] | null
}

const numbers = fc.oneof(
  { weight: 2, arbitrary: fc.constant<number[]>([]) },
  fc.array(fc.nat(7), { minLength: 1, maxLength: 2 }),
)
const filters: fc.Arbitrary<Drawn> = fc.record({
  lists: fc.record({
    ...{ session_ids: numbers, response_ids: numbers, trace_ids: numbers, artifact_ids: numbers, bundle_ids: numbers },
  }),
  key: fc.option(fc.nat(1)),
  range: fc.option(fc.tuple(fc.nat(3), fc.integer({ min: 4, max: 8 }))),
  kinds: fc.option(fc.array(fc.boolean(), { minLength: 10, maxLength: 10 }), { freq: 3 }),
})

function filterFor(world: World, { lists, key, range }: Drawn): PurgeFilter {
  const of = (ids: readonly string[], at: readonly number[]) => [
    ...new Set(at.flatMap((n) => ids[n % Math.max(1, ids.length)] ?? [])),
  ]
  const named = {
    session_ids: of(world.sessions, lists.session_ids),
    response_ids: of(world.responses, lists.response_ids),
    trace_ids: of(world.traces, lists.trace_ids),
    artifact_ids: of(world.artifacts, lists.artifact_ids),
    bundle_ids: of(world.bundles, lists.bundle_ids),
  }
  const filter: PurgeFilter = {
    ...Object.fromEntries(Object.entries(named).filter(([, ids]) => ids.length > 0)),
    ...(key !== null && { key_id: world.makers[key]?.made_by as string }),
    ...(range && { from: rfc3339(NOON - range[1] * MINUTE_MS), to: rfc3339(NOON - range[0] * MINUTE_MS) }),
  }
  return Object.keys(filter).length === 0 ? { everything: true } : filter
}

const books = async (db: OpenDb, project_id: string) =>
  db.rows(sql`
    SELECT COUNT(*) AS events, SUM(charged_micros) AS charged, SUM(direct_cost_micros) AS direct,
           SUM(input_tokens) AS input, SUM(output_tokens) AS output
    FROM usage_event WHERE project_id = ${project_id}`)

interface Scene {
  project: TestProject
  world: World
  filter: PurgeFilter
  kinds: string[]
}

const KINDS = [
  ...['responses', 'kept_answers', 'session_events', 'sessions', 'bundles', 'artifacts'],
  ...['recordings', 'refused_calls', 'traces', 'prefix_memory'],
]

async function sceneOf(service: TestService, plot: Plot, drawn: Drawn): Promise<Scene> {
  const project = await service.newProject()
  const world = await build(service.db, project.project.id, plot)
  const some = KINDS.filter((_kind, at) => drawn.kinds?.[at] ?? true)
  return { project, world, filter: filterFor(world, drawn), kinds: some.length === 0 ? KINDS : some }
}

const begin = ({ project, filter, kinds }: Scene) =>
  project.post('/v2/purge-jobs', { filter, kinds, mode: 'erase', ...(filter.everything && { confirm: 'home' }) })

const FULL: Plot = {
  sessions: [{ minutes: 3, maker: 0 }],
  calls: [{ minutes: 3, maker: 0, session: 0, stored: true, kept: true, worded: true, recorded: true }],
  refused: [{ minutes: 3, maker: 0 }],
  artifacts: [{ minutes: 3, makers: [0] }],
  bundles: [{ minutes: 3, maker: 0, artifacts: [0] }],
}

/** Right to the last row and id. */
async function assertRight(
  service: TestService,
  scene: Scene,
  before: Awaited<ReturnType<typeof contentsOf>>,
  id: string,
) {
  const { project, world, filter, kinds } = scene
  const should = expected(before, world, filter, kinds)
  const job = (await project.get(`/v2/purge-jobs/${id}`)).body
  const receipt = (await project.get(`/v2/purge-jobs/${id}/receipt`)).body
  expect(await contentsOf(service.db)).toEqual(should.after)
  expect(job.status).toBe('succeeded')
  const counts = Object.fromEntries(receipt.erased.map((one: { kind: string; count: number }) => [one.kind, one.count]))
  expect(counts).toEqual(Object.fromEntries(kinds.map((kind) => [kind, should.counts[kind]])))
  expect(receipt.digest).toBe(hash('sha256', should.lines.map((line) => `${line}\n`).join(''), 'hex'))
}

withService((service) => {
  const erasers = ({ artifacts, recordings, db }: TestService = service()) =>
    erasersOf({ ...keptQuotas(db, noGateway().quotas), artifacts, recordings })

  const check = (work: (plot: Plot, drawn: Drawn) => Promise<void>, numRuns = RUNS) =>
    fc.assert(fc.asyncProperty(plots, filters, work), { numRuns })

  test('§8.1 matched is erased, the rest is the same to the byte, and so are the books', async () => {
    await check(async (plot, drawn) => {
      const scene = await sceneOf(service(), plot, drawn)
      const beside = await build(service().db, (await service().newProject()).project.id, plot)
      const before = await contentsOf(service().db)
      const [ledger, other] = [
        await books(service().db, scene.world.project_id),
        await books(service().db, beside.project_id),
      ]
      const { body } = await begin(scene)
      await service().housekeep('run purge jobs')
      await assertRight(service(), scene, before, body.id)
      expect(await books(service().db, scene.world.project_id)).toEqual(ledger)
      expect(await books(service().db, beside.project_id)).toEqual(other)
    })
  })

  test('§4.15 by a key, what a child of it made goes too, of every kind', async () => {
    const none = { session_ids: [], response_ids: [], trace_ids: [], artifact_ids: [], bundle_ids: [] }
    const by = 2 // a child of the first
    const plot: Plot = {
      sessions: [{ minutes: 3, maker: by }],
      calls: FULL.calls.map((call) => ({ ...call, maker: by })),
      refused: [{ minutes: 3, maker: by }],
      artifacts: [{ minutes: 3, makers: [by] }],
      bundles: [{ minutes: 3, maker: by, artifacts: [0] }],
    }
    const scene = await sceneOf(service(), plot, { lists: none, key: 0, range: null, kinds: null })
    const { id } = (await begin(scene)).body
    await service().housekeep('run purge jobs')
    const { erased } = (await scene.project.get(`/v2/purge-jobs/${id}/receipt`)).body
    for (const { kind, count } of erased) expect([kind, count > 0]).toEqual([kind, true])
  })

  test('§8.1 a session of one key stays where a turn of another key is on its line', async () => {
    const none = { session_ids: [], response_ids: [], trace_ids: [], artifact_ids: [], bundle_ids: [] }
    const call = { minutes: 3, session: 0, stored: true, kept: true, worded: true, recorded: true }
    const plot = { ...FULL, calls: [0, 1].map((by) => ({ ...call, maker: by })) }
    const scene = await sceneOf(service(), plot, { lists: none, key: 0, range: null, kinds: null })
    const before = await contentsOf(service().db)
    const { body } = await begin(scene)
    await service().housekeep('run purge jobs')
    await assertRight(service(), scene, before, body.id)
    expect((await scene.project.get('/v2/sessions')).body.data).toHaveLength(1)
  })

  test('§8.1 a plan counts what erasing it then erases, and changes nothing itself', async () => {
    await check(async (plot, drawn) => {
      const scene = await sceneOf(service(), plot, drawn)
      const before = await contentsOf(service().db)
      const confirm = scene.filter.everything && { confirm: 'home' }
      const { body } = await scene.project.post('/v2/purge-jobs', {
        ...{ filter: scene.filter, kinds: scene.kinds, ...confirm },
      })
      await service().housekeep('run purge jobs')
      expect(await contentsOf(service().db)).toEqual(before)
      const planned = (await scene.project.get(`/v2/purge-jobs/${body.id}`)).body
      const { counts } = expected(before, scene.world, scene.filter, scene.kinds)
      const matched = planned.kinds.map((one: { kind: string; matched: number }) => [one.kind, one.matched])
      expect(Object.fromEntries(matched)).toEqual(Object.fromEntries(scene.kinds.map((kind) => [kind, counts[kind]])))
      expect((await scene.project.post(`/v2/purge-jobs/${body.id}/erase`)).body.status).toBe('queued')
      await service().housekeep('run purge jobs')
      await assertRight(service(), scene, before, body.id)
    }, 5)
  })

  /** The runner as another process has it, which ends at its nth write and never comes back. */
  function dyingRun(at: number, more: readonly Eraser[] = erasers()) {
    const { db, clock } = service()
    const sign = (text: string) => hash('sha256', text, 'hex')
    let writes = 0
    const dying: OpenDb = {
      ...db,
      async transaction(work) {
        if (++writes > at) throw new Error('killed')
        return db.transaction(work)
      },
    }
    const died = () => writes > at
    const run = purgeRun({ db, clock, erasers: more, sign, onFailure: () => {} })
    const task: SharedTask = { name: 'run purge jobs', every_ms: 1_000, run: run.turn }
    return { died, turn: (holder: string) => housekeepingLeases(dying, holder, clock).turn(task) }
  }

  test('§8.1 cut off after any of its writes, the next replica goes on: the receipt is right or absent', async () => {
    await fc.assert(
      fc.asyncProperty(plots, filters, async (plot, drawn) => {
        for (let at = 1; ; at++) {
          const scene = await sceneOf(service(), plot, drawn)
          const before = await contentsOf(service().db)
          const { body } = await begin(scene)
          const { died, turn } = dyingRun(at)
          await turn(`victim ${body.id}`).catch(() => {})
          const { status } = (await scene.project.get(`/v2/purge-jobs/${body.id}`)).body
          const early = await scene.project.get(`/v2/purge-jobs/${body.id}/receipt`)
          expect(early.status).toBe(status === 'succeeded' ? 200 : 404)
          service().clock.advance(leaseLength(1_000))
          await service().housekeep('run purge jobs')
          service().clock.advance(-leaseLength(1_000))
          await assertRight(service(), scene, before, body.id)
          await service().db.rows(sql`UPDATE housekeeping_lease SET expires_at = 0`)
          if (!died()) break
        }
      }),
      { numRuns: 2 },
    )
  })

  test('§8.1 a replica that lost its lease in mid-batch changes nothing any more', async () => {
    await check(async (plot, drawn) => {
      const scene = await sceneOf(service(), plot, { ...drawn, kinds: null })
      const before = await contentsOf(service().db)
      const { body } = await begin(scene)
      const { clock, db } = service()
      let taken = false
      // Between two batches the other one takes the lease and does all of it; the first then goes on as it was.
      const slow: Eraser[] = erasers().map((eraser) => ({
        ...eraser,
        async count(on: Db, scope) {
          const counted = await eraser.count(on, scope)
          if (!taken) {
            taken = true
            clock.advance(leaseLength(1_000))
            await service().housekeep('run purge jobs')
            clock.advance(-leaseLength(1_000))
          }
          return counted
        },
      }))
      const run = purgeRun({ db, clock, erasers: slow, sign: () => 'never', onFailure: () => {} })
      const task: SharedTask = { name: 'run purge jobs', every_ms: 1_000, run: run.turn }
      await expect(housekeepingLeases(db, `first ${body.id}`, clock).turn(task)).rejects.toThrow(LeaseLost)
      await assertRight(service(), scene, before, body.id)
      const { signature } = (await scene.project.get(`/v2/purge-jobs/${body.id}/receipt`)).body
      expect(signature).not.toBe('never')
      await db.rows(sql`UPDATE housekeeping_lease SET expires_at = 0`)
    }, 4)
  })

  test.each(KINDS.filter((kind) => kind !== 'prefix_memory'))('§8.1 planted: forgetting %s is caught', async (kind) => {
    const none = { session_ids: [], response_ids: [], trace_ids: [], artifact_ids: [], bundle_ids: [] }
    const scene = await sceneOf(service(), FULL, { lists: none, key: null, range: null, kinds: null })
    const before = await contentsOf(service().db)
    const { body } = await begin(scene)
    const { clock, db } = service()
    // An eraser that says it is through with nothing done, and counts as if it were.
    const forgetful = erasers().map((eraser) =>
      eraser.kind === kind
        ? { ...eraser, count: async () => 0, erase: async () => ({ ids: [], next: null }), eraseOutside: undefined }
        : eraser,
    ) as Eraser[]
    const sign = () => 'planted'
    const run = purgeRun({ db, clock, erasers: forgetful, sign, onFailure: () => {} })
    await run.turn(db)
    await expect(assertRight(service(), scene, before, body.id)).rejects.toThrow()
  })

  test('§8.1 planted: an eraser that counts honestly and erases nothing gets no receipt', async () => {
    const none = { session_ids: [], response_ids: [], trace_ids: [], artifact_ids: [], bundle_ids: [] }
    const scene = await sceneOf(service(), FULL, { lists: none, key: null, range: null, kinds: null })
    const { body } = await begin(scene)
    const { clock, db } = service()
    const lazy = erasers().map((eraser) =>
      eraser.kind === 'responses' ? { ...eraser, erase: async () => ({ ids: [], next: null }) } : eraser,
    )
    await purgeRun({ db, clock, erasers: lazy, sign: () => 'planted', onFailure: () => {} }).turn(db)
    const job = (await scene.project.get(`/v2/purge-jobs/${body.id}`)).body
    expect([job.status, job.error]).toEqual(['failed', 'After 5 passes there is still: 1 responses.'])
    expect((await scene.project.get(`/v2/purge-jobs/${body.id}/receipt`)).status).toBe(404)
  })
})
