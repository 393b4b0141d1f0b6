// R46, R78: whose turn it is. Each property is run over a queue with a planted bug too, and must fail there.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { QOS_CLASSES, type QosClass } from '../hints/hints.ts'
import { fairQueue, type LevelOf, type Queued } from './fair-queue.ts'

interface Call extends Queued {
  n: number
}
interface Queue extends Pick<ReturnType<typeof fairQueue<Call>>, 'push' | 'remove' | 'size'> {
  next(): Call | undefined
}
type Build = () => Queue

/** Where every project has as much of the target as any other, unless the test says what each has. */
function queueOf(levelOf: LevelOf = () => 0): Queue {
  const queue = fairQueue<Call>()
  const next = () => {
    const project_id = queue.lowest(levelOf)
    return project_id === undefined ? undefined : queue.next(project_id)
  }
  return { ...queue, next }
}

const call = (n: number, rest: Partial<Call> = {}): Call => ({
  n,
  class: 'standard',
  project_id: 'a',
  input_tokens_est: 1_000,
  start_by: Infinity,
  arrived_at: n,
  ...rest,
})

const drain = (queue: Queue) => {
  const order: Call[] = []
  for (let next = queue.next(); next; next = queue.next()) order.push(next)
  return order
}
const numbers = (calls: readonly Call[]) => calls.map(({ n }) => n)
const holds = <T>(property: fc.IProperty<T>) => !fc.check(property, { numRuns: 300 }).failed

/** A queue that always takes whoever `better` prefers: the usual wrong ways to do it. */
function sortedBy(better: (a: Call, b: Call) => number): Queue {
  const calls: Call[] = []
  return {
    size: () => calls.length,
    push: (one) => void calls.push(one),
    remove: (one) => void calls.splice(calls.indexOf(one), 1),
    next: () => calls.splice(calls.indexOf(calls.toSorted(better)[0] as Call), 1)[0],
  }
}
const firstCome: Build = () => sortedBy((a, b) => a.n - b.n)
const strictPriority: Build = () =>
  sortedBy((a, b) => QOS_CLASSES.indexOf(a.class) - QOS_CLASSES.indexOf(b.class) || a.n - b.n)

const SHARES: Record<QosClass, number> = { interactive: 8, standard: 4, background: 1 }
const COST_MAX = 20_000

/** While all three always wait, no class gets ahead of another by more than a turn and its dearest call. */
const shares = (build: Build) =>
  fc.property(fc.array(fc.integer({ min: 0, max: COST_MAX }), { minLength: 50, maxLength: 150 }), (costs) => {
    const queue = build()
    const served: Record<QosClass, number> = { interactive: 0, standard: 0, background: 0 }
    let n = 0
    const refill = (qos_class: QosClass) =>
      queue.push(call(n, { class: qos_class, input_tokens_est: costs[n++ % costs.length] as number }))
    for (const qos_class of QOS_CLASSES) refill(qos_class)
    for (let turn = 0; turn < 400; turn++) {
      const next = queue.next() as Call
      served[next.class] += Math.max(256, next.input_tokens_est)
      refill(next.class)
    }
    const levels = QOS_CLASSES.map((qos_class) => served[qos_class] / SHARES[qos_class])
    expect(Math.max(...levels) - Math.min(...levels)).toBeLessThanOrEqual(256 + 2 * COST_MAX)
  })

test('R46 interactive, standard and background share tokens 8:4:1, whatever their calls cost', () => {
  fc.assert(shares(queueOf), { numRuns: 300 })
})

test('R46 planted: strict priority and first come first served do not share', () => {
  expect(holds(shares(strictPriority))).toBe(false)
  expect(holds(shares(firstCome))).toBe(false)
})

/** However the flood looks, a background call starts within the turns that its cost takes. */
const noStarvation = (build: Build) =>
  fc.property(fc.integer({ min: 1, max: 10_000 }), fc.integer({ min: 1, max: 5_000 }), (cost, flood_cost) => {
    const queue = build()
    let n = 0
    const flood = () => queue.push(call(n++, { class: 'interactive', input_tokens_est: flood_cost, start_by: n }))
    for (let i = 0; i < 20; i++) flood()
    queue.push(call(-1, { class: 'background', input_tokens_est: cost }))
    const turns = Math.ceil(Math.max(cost, 256) / 256)
    const before_it = (turns * 8 * 256 + flood_cost) / Math.max(flood_cost, 256)
    for (let served = 0; served <= before_it; served++) {
      if (queue.next()?.n === -1) return
      flood()
    }
    throw new Error('starved')
  })

test('R46 background gets its share under a flood of interactive calls', () => {
  fc.assert(noStarvation(queueOf), { numRuns: 300 })
})

test('R46 planted: earliest start-by over all classes starves the background', () => {
  expect(holds(noStarvation(() => sortedBy((a, b) => a.start_by - b.start_by)))).toBe(false)
})

const startBy = fc.option(fc.integer({ min: 0, max: 20 }), { nil: Infinity })

const earliestFirst = (build: Build) =>
  fc.property(fc.array(startBy, { maxLength: 30 }), (start_bys) => {
    const queue = build()
    const calls = start_bys.map((start_by, n) => call(n, { start_by }))
    for (const one of calls) queue.push(one)
    const expected = calls.toSorted((a, b) => (a.start_by === b.start_by ? a.n - b.n : a.start_by - b.start_by))
    expect(numbers(drain(queue))).toEqual(numbers(expected))
  })

test('R46 inside a project the earliest start-by goes first; equals go as they came', () => {
  fc.assert(earliestFirst(queueOf))
})

test('R46 planted: first come first served is not earliest first', () => {
  expect(holds(earliestFirst(firstCome))).toBe(false)
})

test('R46 of equals, the one that arrived earlier goes first, also where it joins later', () => {
  const queue = queueOf()
  for (const [n, arrived_at] of [3, 1, 2, 1].entries()) queue.push(call(n, { arrived_at }))
  expect(numbers(drain(queue))).toEqual([1, 3, 2, 0])
})

const projectsInTurn = (build: Build) =>
  fc.property(fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), startBy), { maxLength: 40 }), (arrivals) => {
    const queue = build()
    for (const [n, [project_id, start_by]] of arrivals.entries()) queue.push(call(n, { project_id, start_by }))
    const left = new Map<string, number>()
    for (const [project_id] of arrivals) left.set(project_id, (left.get(project_id) ?? 0) + 1)
    const served = new Map([...left.keys()].map((project_id) => [project_id, 0]))
    for (const { project_id } of drain(queue)) {
      served.set(project_id, (served.get(project_id) ?? 0) + 1)
      left.set(project_id, (left.get(project_id) ?? 0) - 1)
      const waiting = [...left.keys()].filter((id) => (left.get(id) ?? 0) > 0).map((id) => served.get(id) ?? 0)
      expect(Math.max(0, ...served.values()) - Math.min(Infinity, ...waiting)).toBeLessThanOrEqual(1)
    }
  })

test('R78 projects that have equally much take turns: while one waits, no other gets two calls ahead of it', () => {
  fc.assert(projectsInTurn(queueOf))
})

test('R78 planted: earliest start-by over all projects is not taking turns', () => {
  expect(holds(projectsInTurn(() => sortedBy((a, b) => a.start_by - b.start_by || a.n - b.n)))).toBe(false)
})

const nobodyLost = (build: Build) => {
  const step = fc.record({
    class: fc.constantFrom(...QOS_CLASSES),
    project_id: fc.constantFrom('a', 'b'),
    start_by: startBy,
    input_tokens_est: fc.oneof(fc.integer({ min: 0, max: 3_000_000 }), fc.constantFrom(Number.NaN, Infinity, -1)),
    after: fc.constantFrom('stay', 'stay', 'next', 'remove'),
  })
  return fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
    const queue = build()
    const inside = new Set<Call>()
    const take = (one: Call | undefined) => expect(inside.delete(one as Call)).toBe(true)
    for (const [n, { after, ...rest }] of steps.entries()) {
      const one = call(n, rest)
      queue.push(one)
      inside.add(one)
      const [oldest] = inside
      if (after === 'next') take(queue.next())
      if (after === 'remove' && oldest) {
        queue.remove(oldest)
        queue.remove(oldest) // to be gone already is no mistake
        take(oldest)
      }
      expect(queue.size()).toBe(inside.size)
    }
    for (const one of drain(queue)) take(one)
    expect(inside.size).toBe(0)
  })
}

test('R46 everybody comes out once, whatever is removed meanwhile and however odd an estimate is', () => {
  fc.assert(nobodyLost(queueOf), { numRuns: 500 })
})

test('R46 planted: a removal that misses is caught', () => {
  expect(holds(nobodyLost(() => ({ ...queueOf(), remove: () => {} })))).toBe(false)
})

// Guards against a way to jump the queue: ask for something huge, and take it back when its turn is near.
test('R46 what was saved up for a huge call that left is not for the small ones behind it', () => {
  const queue = queueOf()
  const huge = call(0, { class: 'background', input_tokens_est: 1_000_000 })
  queue.push(huge)
  for (let n = 1; n <= 2_000; n++) queue.push(call(n, { class: 'interactive', input_tokens_est: 256 }))
  for (let n = 0; n < 1_000; n++) expect(queue.next()?.class).toBe('interactive')
  queue.remove(huge)
  for (let n = 0; n < 50; n++) queue.push(call(n, { class: 'background', input_tokens_est: 256 }))
  const soon = Array.from({ length: 90 }, () => queue.next()?.class)
  expect(soon.filter((qos_class) => qos_class === 'background').length).toBeLessThanOrEqual(12)
})

test('R46 a class in which nobody waits saves nothing up', () => {
  const queue = queueOf()
  queue.push(call(0, { class: 'interactive', input_tokens_est: 1 }))
  queue.push(call(1, { class: 'standard', input_tokens_est: 1 }))
  queue.push(call(4, { class: 'background', input_tokens_est: 1 }))
  expect(numbers([queue.next() as Call, queue.next() as Call])).toEqual([0, 1])
  queue.push(call(2, { class: 'interactive', input_tokens_est: 3_000 }))
  queue.push(call(3, { class: 'standard', input_tokens_est: 900 }))
  expect(numbers(drain(queue))).toEqual([4, 3, 2])
})

test('R78 the project that has the least of the target goes next, whatever the class of its calls', () => {
  const in_use: Record<string, number> = { a: 3, b: 1, c: 2 }
  const queue = queueOf((project_id) => in_use[project_id] ?? 0)
  for (const n of [0, 1]) queue.push(call(n, { project_id: 'a', class: 'interactive', start_by: 0 }))
  for (const n of [2, 3, 4]) queue.push(call(n, { project_id: 'b', class: 'background' }))
  queue.push(call(5, { project_id: 'c' }))
  const order: string[] = []
  for (let one = queue.next(); one; one = queue.next()) {
    order.push(one.project_id)
    in_use[one.project_id] = (in_use[one.project_id] ?? 0) + 1
  }
  expect(order).toEqual(['b', 'c', 'b', 'a', 'b', 'a'])
})
