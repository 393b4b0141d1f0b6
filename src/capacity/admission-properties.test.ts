// §10.2, R46: what holds of admission whatever happens, in whatever order. Every property is run against an admission
// with a planted bug as well, and must fail there.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { admissionScene, type Build, faults, type Scene, type Ticket } from '../../test/support/admission-scene.ts'
import type { StopSignal } from '../core/stop-signal.ts'
import { QOS_CLASSES } from '../hints/hints.ts'
import { type Admission, type AdmissionRequest, admission, type Slot } from './admission.ts'
import type { Timers } from './waiting-room.ts'

const BOUNDS = { waiters: 8, waiters_per_key: 4, body_bytes: 1_000, wait_ms: 60_000 }

type Step =
  | {
      do: 'come'
      asked: Pick<AdmissionRequest, 'class' | 'project_id' | 'key_id' | 'input_tokens_est' | 'body_bytes'>
      start_in: number | undefined
      deadline_in: number | undefined
    }
  | { do: 'release'; which: number }
  | { do: 'release_again'; which: number }
  | { do: 'give_up'; which: number }
  | { do: 'pass'; ms: number }

const after = fc.option(fc.integer({ min: 0, max: 90_000 }), { nil: undefined })
const come: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('come' as const),
  asked: fc.record({
    class: fc.constantFrom(...QOS_CLASSES),
    project_id: fc.constantFrom('prj_1', 'prj_2', 'prj_3'),
    key_id: fc.constantFrom('key_1', 'key_2', 'key_3', 'key_4'),
    input_tokens_est: fc.integer({ min: 0, max: 100_000 }),
    body_bytes: fc.integer({ min: 0, max: 400 }),
  }),
  start_in: after,
  deadline_in: after,
})
const touch: fc.Arbitrary<Step> = fc.record({
  do: fc.constantFrom('release', 'release_again', 'give_up'),
  which: fc.nat(),
})
const pass: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('pass' as const),
  ms: fc.integer({ min: 0, max: 40_000 }),
})
const steps = fc.array(fc.oneof({ weight: 5, arbitrary: come }, { weight: 4, arbitrary: touch }, pass), {
  maxLength: 80,
  size: 'max',
})

async function take(scene: Scene, step: Step): Promise<void> {
  const { come, release, giveUp, pass, of, clock, tickets } = scene
  const pick = <T>(from: readonly T[], which: number) => from[which % from.length]
  if (step.do === 'pass') await pass(step.ms)
  else if (step.do === 'release') await release(pick(of('holding'), step.which))
  else if (step.do === 'release_again') await release(pick(of('released'), step.which))
  else if (step.do === 'give_up') await giveUp(pick(tickets, step.which))
  else {
    const { asked, start_in, deadline_in } = step
    const at = (ms: number | undefined) => (ms === undefined ? undefined : clock.now() + ms)
    await come({ ...asked, start_by: at(start_in), deadline_at: at(deadline_in) })
  }
}

/** No slot too many, none lost, every bound kept, after each step; and nothing left when all have gone. */
const sound = (build: Build, matters: (fault: string) => boolean = () => true) =>
  fc.asyncProperty(steps, fc.integer({ min: 1, max: 3 }), fc.boolean(), async (taken, max_concurrency, is_shared) => {
    const scene = admissionScene({ build, bounds: BOUNDS, max_concurrency, is_shared })
    const check = () => {
      const found = faults(scene, matters)
      if (found.length > 0) throw new Error(found.join(', '))
    }
    for (const step of taken) {
      await take(scene, step)
      check()
    }
    for (const ticket of scene.started) await scene.release(ticket) // grows while it is walked through
    check()
  })

test('§10.2 slots are never too many and never lost, and no bound is passed', async () => {
  await fc.assert(sound(admission), { numRuns: 200 })
})

/** An admission that changes what it is asked, or what it hands out. */
const changed =
  (change: (request: AdmissionRequest) => AdmissionRequest, hand: (slot: Slot) => Slot = (slot) => slot): Build =>
  (...parts) => {
    const inner = admission(...parts)
    const admit: Admission['admit'] = (request) => {
      const given = inner.admit(change(request))
      return given instanceof Promise ? given.then(hand) : hand(given)
    }
    return { ...inner, admit }
  }

const same = (request: AdmissionRequest) => request
const never = new AbortController().signal
let unique = 0

const PLANTED: [string, Build, string][] = [
  [
    'one slot too many',
    changed((request) => ({ ...request, max_concurrency: request.max_concurrency + 1 })),
    'more slots out than the target takes',
  ],
  [
    'an abort that nobody hears, so that the slot goes to a client that left',
    (...parts) => {
      const inner = admission(...parts)
      const left = (signal: StopSignal) =>
        new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      const admit: Admission['admit'] = (request) => {
        const given = inner.admit({ ...request, signal: never })
        return given instanceof Promise ? Promise.race([given, left(request.signal)]) : given
      }
      return { ...inner, admit }
    },
    'waiters counted are not those waiting',
  ],
  [
    'a slot that is not given back',
    changed(same, (slot) => ({ ...slot, release: () => {} })),
    'slots counted are not slots held',
  ],
  [
    'a second release that frees the slot of another',
    (...parts) => {
      const out: Slot[] = []
      const hand = (slot: Slot): Slot => {
        out.push(slot)
        return { ...slot, release: () => out.shift()?.release() }
      }
      return changed(same, hand)(...parts)
    },
    'slots counted are not slots held',
  ],
  [
    'one waiter too many',
    (clock, timers, bounds) => admission(clock, timers, { ...bounds, waiters: bounds.waiters + 1 }),
    'more waiters than the bound',
  ],
  ['bytes that are not counted', changed((request) => ({ ...request, body_bytes: 0 })), 'more bytes than the bound'],
  [
    'keys that are not counted',
    changed((request) => ({ ...request, key_id: `key_${unique++}` })),
    'more waiters of a key than the bound',
  ],
  [
    'bytes counted twice',
    changed((request) => ({ ...request, body_bytes: 2 * request.body_bytes })),
    'refused though there was room',
  ],
  [
    'deadlines that nobody watches',
    (clock, _timers, bounds) => admission(clock, { after: () => () => {} }, bounds),
    'somebody waits whose time is over',
  ],
  [
    'timers that are not called off',
    (clock, timers, bounds) => {
      const after: Timers['after'] = (ms, work) => {
        timers.after(ms, work)
        return () => {}
      }
      return admission(clock, { after }, bounds)
    },
    'a timer too many or too few',
  ],
  [
    'a listener that stays',
    changed((request) => {
      request.signal.addEventListener('abort', () => {})
      return request
    }),
    'a listener too many or too few',
  ],
  [
    'targets that are kept for good',
    (...parts) => {
      const inner = admission(...parts)
      const seen = new Set<string>()
      const admit: Admission['admit'] = (request) => {
        seen.add(request.target_id)
        return inner.admit(request)
      }
      return { ...inner, admit, targets: () => seen.size }
    },
    'a target kept that nobody uses',
  ],
  [
    'deadlines taken for a full room',
    changed(({ deadline_at, ...request }) => request),
    'somebody waits whose time is over',
  ],
  [
    'a slot left unused while somebody waits',
    changed((request) => ({ ...request, max_concurrency: request.max_concurrency - 1 || 1 })),
    'a slot is free while somebody waits',
  ],
]

test.each(PLANTED)('§10.2 planted: %s is caught', async (_bug, build, finding) => {
  const property = sound(build, (fault) => fault === finding)
  expect((await fc.check(property, { numRuns: 1_000, endOnFailure: true })).failed).toBe(true)
})

/** One slot, a flood that never ends, and background work beside it. */
const background = (build: Build) =>
  fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 5, maxLength: 20 }), async (costs) => {
    const scene = admissionScene({ build })
    let n = 0
    const tokens = () => costs[n++ % costs.length] as number
    const flood = () =>
      scene.come({ class: 'interactive', input_tokens_est: tokens(), start_by: scene.clock.now() + 100 })
    const quiet = () => scene.come({ class: 'background', input_tokens_est: tokens(), key_id: 'key_2' })
    const busy = await scene.come()
    for (let i = 0; i < 10; i++) await flood()
    await quiet()
    await scene.release(busy)
    const spent = { interactive: 0, standard: 0, background: 0 }
    for (let served = 0; served < 150; served++) {
      const [running] = scene.of('holding')
      const { class: qos_class, input_tokens_est } = running!.request
      spent[qos_class] += Math.max(256, input_tokens_est)
      await (qos_class === 'background' ? quiet() : flood())
      await scene.release(running)
    }
    // An eighth of what the flood gets, give or take a turn and two calls.
    expect(spent.background).toBeGreaterThanOrEqual(spent.interactive / 8 - 256 - 2 * 5_000)
    expect(spent.background).toBeGreaterThan(0)
  })

test('R46 background gets its share of a target that interactive calls flood', async () => {
  await fc.assert(background(admission), { numRuns: 20 })
})

test('R46 planted: one class for all, earliest first, starves the background', async () => {
  const oneClass = changed((request) => ({ ...request, class: 'interactive' as const }))
  expect((await fc.check(background(oneClass), { numRuns: 20 })).failed).toBe(true)
})

const earliest = (build: Build) =>
  fc.asyncProperty(fc.array(after, { minLength: 1, maxLength: 15 }), async (start_ins) => {
    const scene = admissionScene({ build })
    await scene.come()
    const waiters: Ticket[] = []
    for (const start_in of start_ins)
      waiters.push(await scene.come({ start_by: start_in === undefined ? undefined : scene.clock.now() + start_in }))
    for (const ticket of scene.started) await scene.release(ticket)
    const startBy = (index: number) => start_ins[index] ?? Number.MAX_SAFE_INTEGER
    const expected = [...waiters.keys()].sort((a, b) => startBy(a) - startBy(b) || a - b)
    expect(scene.started.slice(1)).toEqual(expected.map((index) => waiters[index]))
  })

test('R46 inside a project, whoever must start earliest starts first', async () => {
  await fc.assert(earliest(admission), { numRuns: 100 })
})

test('R46 planted: a queue that forgets when calls must start is caught', async () => {
  const forgetful = changed((request) => ({ ...request, start_by: undefined }))
  expect((await fc.check(earliest(forgetful), { numRuns: 100 })).failed).toBe(true)
})
