// The circuit breaker of a target: when it opens, how it closes, and that a lost probe does not keep it open.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { heldClock } from '../../test/support/clock.ts'
import { SECOND_MS } from '../core/clock.ts'
import { type Breakers, breakers } from './breaker.ts'

const OPEN_MS = 30 * SECOND_MS

function scene() {
  const clock = heldClock()
  const circuit = breakers(clock)
  const fail = (times: number, id = 'a') => {
    for (let n = 0; n < times; n++) circuit.failed(id)
  }
  return { clock, circuit, fail }
}

test('R47 four failures in a row change nothing, the fifth opens', () => {
  const { circuit, fail } = scene()
  fail(4)
  expect([circuit.state('a'), circuit.allows('a')]).toEqual(['closed', true])
  fail(1)
  expect([circuit.state('a'), circuit.allows('a')]).toEqual(['open', false])
  expect([circuit.state('b'), circuit.allows('b')]).toEqual(['closed', true])
})

test('§10.2 how long a target is still left alone is known, while it is', () => {
  const { clock, circuit, fail } = scene()
  expect(circuit.openForMs('a')).toBeUndefined()
  fail(5)
  expect(circuit.openForMs('a')).toBe(OPEN_MS)
  clock.advance(OPEN_MS - 1)
  expect(circuit.openForMs('a')).toBe(1)
  clock.advance(1)
  expect(circuit.openForMs('a')).toBeUndefined()
})

test('R47 a success breaks the row', () => {
  const { circuit, fail } = scene()
  for (let round = 0; round < 3; round++) {
    fail(4)
    circuit.succeeded('a')
  }
  expect(circuit.state('a')).toBe('closed')
})

test('R47 after 30 s exactly one probe is let through', () => {
  const { clock, circuit, fail } = scene()
  fail(5)
  clock.advance(OPEN_MS - 1)
  expect(circuit.allows('a')).toBe(false)
  clock.advance(1)
  expect(circuit.state('a')).toBe('half_open')
  expect([circuit.allows('a'), circuit.allows('a'), circuit.allows('a')]).toEqual([true, false, false])
})

test('R47 looking at the state does not use up the probe', () => {
  const { clock, circuit, fail } = scene()
  fail(5)
  clock.advance(OPEN_MS)
  for (let n = 0; n < 3; n++) expect(circuit.state('a')).toBe('half_open')
  expect(circuit.allows('a')).toBe(true)
})

test('R47 the probe decides: back to normal, or another 30 s', () => {
  const { clock, circuit, fail } = scene()
  fail(5)
  clock.advance(OPEN_MS)
  circuit.allows('a')
  fail(1)
  expect(circuit.state('a')).toBe('open')
  clock.advance(OPEN_MS)
  expect(circuit.allows('a')).toBe(true)
  circuit.succeeded('a')
  fail(4)
  expect([circuit.state('a'), circuit.allows('a'), circuit.allows('a')]).toEqual(['closed', true, true])
})

// Guards against a route that was allowed and then not taken: nobody would ever report back.
test('R47 a probe that nobody reports on gives way to another after 30 s', () => {
  const { clock, circuit, fail } = scene()
  fail(5)
  clock.advance(OPEN_MS)
  expect(circuit.allows('a')).toBe(true)
  clock.advance(OPEN_MS - 1)
  expect(circuit.allows('a')).toBe(false)
  clock.advance(1)
  expect([circuit.allows('a'), circuit.allows('a')]).toEqual([true, false])
})

test('R47 what was on its way when the circuit opened neither closes it nor keeps it open longer', () => {
  const { clock, circuit, fail } = scene()
  fail(5)
  circuit.succeeded('a')
  expect(circuit.state('a')).toBe('open')
  clock.advance(OPEN_MS - 1)
  fail(20)
  clock.advance(1)
  expect(circuit.allows('a')).toBe(true)
})

test('R47 ten thousand targets in trouble are remembered, the next one takes the place of the oldest', () => {
  const { circuit, fail } = scene()
  for (let n = 0; n <= 10_000; n++) fail(5, `target_${n}`)
  expect(circuit.state('target_0')).toBe('closed')
  expect(circuit.state('target_1')).toBe('open')
  expect(circuit.state('target_10000')).toBe('open')
})

type Step = { do: 'allows' | 'succeeded' | 'failed' } | { do: 'pass'; ms: number }
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({ do: fc.constantFrom('allows' as const, 'succeeded' as const, 'failed' as const, 'failed' as const) }),
    fc.record({ do: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 40_000 }) }),
  ),
  { maxLength: 100, size: 'max' },
)

/** Not one call in the 30 s after it opened, and then never two within 30 s until one of them reports. */
const oneProbeAtATime = (build: typeof breakers) =>
  fc.property(steps, (taken) => {
    const clock = heldClock()
    const circuit: Breakers = build(clock)
    let opened_at = -Infinity
    let probed_at = -Infinity
    for (const step of taken) {
      const before = circuit.state('a')
      if (step.do === 'pass') clock.advance(step.ms)
      else if (step.do === 'allows') {
        const allowed = circuit.allows('a')
        if (before === 'closed') expect(allowed).toBe(true)
        else if (allowed) {
          expect(clock.now() - opened_at).toBeGreaterThanOrEqual(OPEN_MS)
          expect(clock.now() - probed_at).toBeGreaterThanOrEqual(OPEN_MS)
          probed_at = clock.now()
        }
      } else {
        circuit[step.do]('a')
        if (before !== 'open') probed_at = -Infinity
        if (before !== 'open' && circuit.state('a') === 'open') opened_at = clock.now()
      }
    }
    clock.advance(2 * OPEN_MS)
    expect(circuit.allows('a')).toBe(true) // whatever happened, it is not out for good
  })

test('R47 one probe at a time, and never locked out for good', () => {
  fc.assert(oneProbeAtATime(breakers), { numRuns: 1_000 })
})

test('R47 planted: a half-open circuit that lets everybody through, or nobody ever, is caught', () => {
  const changed = (change: (inner: Breakers) => Breakers['allows']) => (clock: Parameters<typeof breakers>[0]) => {
    const inner = breakers(clock)
    return { ...inner, allows: change(inner) }
  }
  const everybody = changed((inner) => (id) => inner.state(id) !== 'open')
  const nobody = changed((inner) => (id) => inner.state(id) === 'closed')
  const caught = (build: typeof breakers) => fc.check(oneProbeAtATime(build), { numRuns: 1_000 }).failed
  expect([caught(everybody), caught(nobody)]).toEqual([true, true])
})
