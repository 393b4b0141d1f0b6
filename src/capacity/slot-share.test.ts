// R78: projects share the slots of a target. The rule as numbers, and what holds of an admission that follows it,
// whatever comes in whatever order. Every property is run against a planted bug as well, and must fail there.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { admissionScene, type Build, type Scene, type Ticket } from '../../test/support/admission-scene.ts'
import type { Refusal } from '../core/refusal.ts'
import { type Admission, admission } from './admission.ts'
import { claimOf, knownShares, level, mayTake, type Pool, reserveOf, shareOf } from './slot-share.ts'

test.each([
  [1, 0],
  [2, 1],
  [10, 1],
  [19, 1],
  [20, 2],
  [200, 20],
])('R78 of %i slots, %i are for projects that have none in use', (slots, reserve) => {
  expect(reserveOf(slots)).toBe(reserve)
})

const pool = (more: Partial<Pool>): Pool => ({ slots: 200, free: 21, reserve: 20, shares: 2, claimed: 0, ...more })
test.each<[string, number, Partial<Pool>, boolean]>([
  ['beyond its share, and more is free than the reserve', 150, { free: 21 }, true],
  ['beyond its share, and only the reserve is free', 150, { free: 20 }, false],
  ['at its share', 100, { free: 20 }, false],
  ['below its share: half of the reserve is lent', 99, { free: 11 }, true],
  ['below its share, and no more than half of the reserve is free', 1, { free: 10 }, false],
  ['none in use', 0, { free: 1 }, true],
  ['none in use, and nothing is free', 0, { free: 0 }, false],
  ['alone: another may come, so half is its share', 150, { free: 20, shares: 1 }, false],
  ['beyond its share, and others had what is free in use lately', 150, { free: 30, claimed: 10 }, false],
  ['beyond its share, and one more is free than that', 150, { free: 31, claimed: 10 }, true],
  ['below its share, whatever others had', 99, { free: 11, claimed: 100 }, true],
  ['nothing is kept', 150, { free: 1, reserve: 0 }, true],
])('R78 %s', (_case, in_use, more, may) => {
  expect(mayTake({ in_use, share: 1 }, pool(more))).toBe(may)
})

test.each([
  [{ in_use: 0, share: 1 }, 5, 5],
  [{ in_use: 3, share: 1 }, 5, 2],
  [{ in_use: 0, share: 1 }, 150, 100],
  [{ in_use: 120, share: 1 }, 150, 0],
  [{ in_use: 0, share: 3 }, 190, 150],
])('R78 for who holds %j and had %i lately, %i are kept', (holding, peak, kept) => {
  expect(claimOf(holding, peak, { slots: 200, shares: holding.share + 1 })).toBe(kept)
})

test('R78 a share of 3 is three times that of others; a project that is not named has 1', () => {
  const shares = { projects: { prj_big: 3 } }
  expect([shareOf(shares, 'prj_big'), shareOf(shares, 'prj_1'), shareOf(shares, 'constructor')]).toEqual([3, 1, 1])
  const asker = { in_use: 149, share: 3 }
  expect(mayTake(asker, pool({ free: 11, shares: 4 }))).toBe(true)
  expect(mayTake({ ...asker, in_use: 150 }, pool({ free: 11, shares: 4 }))).toBe(false)
})

test('R79 what the operator set comes with a call, goes before the file, and ends with the next call without it', () => {
  const shares = knownShares({ projects: { prj_big: 3 } })
  shares.note('prj_big', 5)
  shares.note('prj_1', 2)
  expect(['prj_big', 'prj_1', 'prj_2'].map(shares.of)).toEqual([5, 2, 1])
  shares.note('prj_big', undefined)
  shares.note('prj_1', undefined)
  expect(['prj_big', 'prj_1'].map(shares.of)).toEqual([3, 1])
  for (let n = 0; n < 20_000; n++) shares.note(`prj_${n}`, 2)
  expect(shares.of('prj_19999')).toBe(2)
})

test('R79 where two projects wait, what comes free goes to them by their shares', async () => {
  const scene = admissionScene({ max_concurrency: 10, is_shared: true }) // one of them is kept free
  const first: Ticket[] = []
  for (let n = 0; n < 10; n++) first.push(await scene.come({ project_id: `prj_other${n}` }))
  for (let n = 0; n < 9; n++) {
    await scene.come({ project_id: 'prj_big', key_id: 'key_big', share: 2 })
    await scene.come({ project_id: 'prj_small', key_id: 'key_small' })
  }
  const before = scene.started.length
  for (const ticket of first) ticket.slot?.release()
  await new Promise((turn) => setImmediate(turn))
  const got = scene.started.slice(before).map(({ request }) => request.project_id)
  expect([got.filter((id) => id === 'prj_big').length, got.filter((id) => id === 'prj_small').length]).toEqual([6, 3])
})

const holding = fc.record({ in_use: fc.integer({ min: 0, max: 40 }), share: fc.integer({ min: 1, max: 4 }) })
test('R78 whoever may take a slot, those who have less may as well', () => {
  const free = fc.integer({ min: 0, max: 40 })
  fc.assert(
    fc.property(holding, holding, fc.integer({ min: 1, max: 40 }), free, (one, other, slots, free) => {
      const [low, high] = level(one) <= level(other) ? [one, other] : [other, one]
      const now = { slots, free, reserve: reserveOf(slots), shares: one.share + other.share, claimed: 0 }
      if (mayTake(high, now)) expect(mayTake(low, now)).toBe(true)
    }),
  )
})

const SLOTS = 20
const PROJECTS = ['prj_a', 'prj_b', 'prj_c', 'prj_d'] as const
const BOUNDS = { waiters: 40, waiters_per_key: 40, body_bytes: 1e9, wait_ms: 60_000 }

const steps = fc.array(
  fc.oneof(
    // One that floods, and others.
    fc.record({
      do: fc.constant('come' as const),
      project_id: fc.constantFrom('prj_a', 'prj_a', 'prj_a', ...PROJECTS),
    }),
    fc.record({ do: fc.constant('release' as const), which: fc.nat() }),
  ),
  { minLength: 40, maxLength: 120, size: 'max' },
)

const heldBy = (scene: Scene, project_id: string) =>
  scene.of('holding').filter(({ request }) => request.project_id === project_id).length
const come = (scene: Scene, project_id: string) => scene.come({ project_id, key_id: project_id })

/** After each step: nothing idle that somebody may have, one in ten kept, the freed slot with who has the least. */
const shared = (build: Build): fc.IAsyncProperty<unknown> =>
  fc.asyncProperty(steps, async (taken) => {
    const scene = admissionScene({ build, bounds: BOUNDS, max_concurrency: SLOTS, is_shared: true })
    const peaks = new Map<string, number>()
    /** What others had in use at once, up to an equal share, and have not now. */
    const claims = (asker: string) =>
      [...peaks]
        .filter(([id]) => id !== asker)
        .map(([id, peak]) => Math.max(0, Math.min(peak, Math.floor(SLOTS / peaks.size)) - heldBy(scene, id)))
        .reduce((sum, claim) => sum + claim, 0)
    for (const step of taken) {
      const holding = scene.of('holding')
      const released = step.do === 'release' ? holding[step.which % holding.length] : undefined
      const stays = holding.filter((one) => one !== released)
      const had = (ticket: Ticket) =>
        stays.filter(({ request }) => request.project_id === ticket.request.project_id).length
      const started = scene.started.length
      if (step.do === 'come') await come(scene, step.project_id)
      else await scene.release(released)
      for (const id of PROJECTS) if (heldBy(scene, id) > (peaks.get(id) ?? 0)) peaks.set(id, heldBy(scene, id))
      const free = SLOTS - scene.of('holding').length
      const waiting = scene.of('waiting')
      for (const one of scene.started.slice(started)) {
        const kept = had(one) === 0 ? 0 : had(one) >= SLOTS / 2 ? 2 + claims(one.request.project_id) : 1
        if (free < kept) throw new Error('the reserve, or what others had, is gone')
        if (waiting.some((other) => had(other) < had(one))) throw new Error('somebody waits who has less')
      }
      for (const { request } of waiting) {
        const kept = heldBy(scene, request.project_id) > 0 ? 2 + claims(request.project_id) : 0
        if (free > kept) throw new Error('a slot lies idle')
      }
    }
  })

/** However one project floods, another is served: its first call at once, the others by what comes free. */
const noStarvation = (build: Build): fc.IAsyncProperty<unknown> =>
  fc.asyncProperty(fc.integer({ min: 1, max: 8 }), async (calls) => {
    const scene = admissionScene({ build, bounds: BOUNDS, max_concurrency: SLOTS, is_shared: true })
    for (let n = 0; n < 2 * SLOTS; n++) await come(scene, 'prj_flood')
    const victims: Ticket[] = []
    for (let n = 0; n < calls; n++) victims.push(await come(scene, 'prj_victim'))
    if (victims[0]?.slot?.verdict !== 'admitted') throw new Error('the first call had to wait')
    // What comes free first refills the reserve, which is two of twenty.
    for (let n = 0; n < calls + 2; n++) {
      await scene.release(scene.of('holding').find(({ request }) => request.project_id === 'prj_flood'))
      await come(scene, 'prj_flood')
    }
    if (victims.some(({ state }) => state !== 'holding')) throw new Error('starved')
  })

const PROPERTIES = { shared, noStarvation }
const NAMES = ['shared', 'noStarvation'] as const
const holds = async (property: fc.IAsyncProperty<unknown>, numRuns: number) =>
  !(await fc.check(property, { numRuns, endOnFailure: true })).failed

test.each(NAMES)('R78 slots are shared by project, max-min, nothing idle, one in ten kept: %s', async (name) => {
  await fc.assert(PROPERTIES[name](admission), { numRuns: 200, endOnFailure: true })
})

const alteredBy =
  (change: (request: Parameters<Admission['admit']>[0]) => object): Build =>
  (...parts) => {
    const inner = admission(...parts)
    return { ...inner, admit: (request) => inner.admit({ ...request, ...change(request) }) }
  }

/** Each call at a target of its own: what was used lately is never that of this one. */
const forgetful: Build = (clock, ...rest) => {
  let at = 0
  return admission({ ...clock, now: () => clock.now() + at++ * 120_000 }, ...rest)
}

const PLANTED: [string, Build][] = [
  ['no reserve', alteredBy(() => ({ is_shared: false }))],
  ['nobody is remembered', forgetful],
  ['projects that are not told apart', alteredBy(() => ({ project_id: 'prj_a' }))],
  [
    'nobody else is thought to be there',
    (...parts) => admission(...parts, { shares: { projects: {} }, hasNeighbours: () => false }),
  ],
]

test.each(PLANTED)('R78 planted: %s is caught', async (_bug, build) => {
  const caught = await Promise.all(NAMES.map(async (name) => !(await holds(PROPERTIES[name](build), 300))))
  expect(caught).toContain(true)
})

test('R78 a project of three shares gets three slots for each of another’s', async () => {
  const sharing = { shares: { projects: { prj_big: 3 } }, hasNeighbours: () => true }
  const build: Build = (clock, timers, bounds) => admission(clock, timers, bounds, sharing)
  const scene = admissionScene({
    build,
    bounds: { ...BOUNDS, waiters: 200, waiters_per_key: 200 },
    max_concurrency: SLOTS,
    is_shared: true,
  })
  for (let n = 0; n < 3 * SLOTS; n++) for (const project_id of ['prj_small', 'prj_big']) await come(scene, project_id)
  for (let n = 0; n < 4 * SLOTS; n++) await scene.release(scene.of('holding')[0])
  expect([heldBy(scene, 'prj_big'), heldBy(scene, 'prj_small')]).toEqual([14, 5])
})

test('R78 where there is one project, and on a target of its own, it has every slot', async () => {
  const alone: Build = (clock, timers, bounds) =>
    admission(clock, timers, bounds, { shares: { projects: {} }, hasNeighbours: () => false })
  for (const options of [{ build: alone, is_shared: true }, { is_shared: false }]) {
    const scene = admissionScene({ ...options, max_concurrency: 10 })
    for (let n = 0; n < 10; n++) await come(scene, 'prj_1')
    expect(scene.of('holding')).toHaveLength(10)
  }
})

test('R78 what a project had in use lately is there for it, though another floods the target meanwhile', async () => {
  const scene = admissionScene({ bounds: BOUNDS, max_concurrency: SLOTS, is_shared: true })
  const before: Ticket[] = []
  for (let n = 0; n < 8; n++) before.push(await come(scene, 'prj_victim'))
  for (const ticket of before) await scene.release(ticket)
  for (let n = 0; n < 2 * SLOTS; n++) await come(scene, 'prj_flood')
  expect(heldBy(scene, 'prj_flood')).toBe(SLOTS - 8 - 2)
  const again: Ticket[] = []
  for (let n = 0; n < 8; n++) again.push(await come(scene, 'prj_victim'))
  expect(again.map(({ slot }) => slot?.verdict)).toEqual(Array(8).fill('admitted'))
  for (const ticket of again) await scene.release(ticket)
  scene.timers.advance(2 * 60_000) // who has not called for that long is kept no more than the reserve
  expect(heldBy(scene, 'prj_flood')).toBe(SLOTS - 8 - 2)
  for (let n = 0; n < 8; n++) await come(scene, 'prj_flood')
  expect(heldBy(scene, 'prj_flood')).toBe(SLOTS - 2)
})

test('R78 what is kept for who calls no more comes to those who wait, though no call ends', async () => {
  const scene = admissionScene({ bounds: { ...BOUNDS, wait_ms: 600_000 }, max_concurrency: SLOTS, is_shared: true })
  const before: Ticket[] = []
  for (let n = 0; n < 8; n++) before.push(await come(scene, 'prj_once'))
  for (const ticket of before) await scene.release(ticket)
  for (let n = 0; n < 2 * SLOTS; n++) await come(scene, 'prj_busy')
  expect(heldBy(scene, 'prj_busy')).toBe(SLOTS - 8 - 2)
  scene.timers.advance(2 * 60_000 + 10_000)
  await new Promise((turn) => setImmediate(turn))
  expect(heldBy(scene, 'prj_busy')).toBe(SLOTS - 2)
})

test('R78 a waiting room that one project has filled makes place for another, by its newest', async () => {
  const scene = admissionScene({ bounds: { ...BOUNDS, waiters: 10, waiters_per_key: 10 }, is_shared: true })
  const flood = []
  for (let n = 0; n < 11; n++) flood.push(await come(scene, 'prj_flood'))
  const others = [await come(scene, 'prj_c'), await come(scene, 'prj_d')]
  expect(others.map(({ state }) => state)).toEqual(['waiting', 'waiting'])
  expect(flood.map(({ state }) => state)).toEqual(['holding', ...Array(8).fill('waiting'), 'refused', 'refused'])
  const { kind, headers } = flood[10]!.reason as Refusal
  expect([kind, headers]).toEqual(['rate_limited', { 'retry-after': '1', 'agent-qos-admission': 'rejected' }])
  const again = await come(scene, 'prj_flood')
  expect(again.state).toBe('refused')
})

test('R78 bytes that one project fills the room with make place likewise', async () => {
  const scene = admissionScene({ bounds: { ...BOUNDS, body_bytes: 1_000 }, is_shared: true })
  await come(scene, 'prj_flood')
  const large = await scene.come({ project_id: 'prj_flood', body_bytes: 1_000 })
  const small = await scene.come({ project_id: 'prj_c', body_bytes: 10 })
  expect([large.state, small.state]).toEqual(['refused', 'waiting'])
})

test('R78 interactive calls of one project do not send the background of another away', async () => {
  const scene = admissionScene({ bounds: { ...BOUNDS, waiters: 10, waiters_per_key: 10 }, is_shared: true })
  await come(scene, 'prj_flood')
  const background = []
  for (let n = 0; n < 3; n++) background.push(await scene.come({ project_id: 'prj_c', class: 'background' }))
  for (let n = 0; n < 20; n++) await scene.come({ project_id: 'prj_flood', class: 'interactive', key_id: `k${n}` })
  expect(background.map(({ state }) => state)).toEqual(['waiting', 'waiting', 'waiting'])
})
