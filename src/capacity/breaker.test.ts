// The circuit breakers of a target: when they open and for whom, how they close, and that a lost probe does not keep
// them open.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type HeldClock, heldClock } from '../../test/support/clock.ts'
import { SECOND_MS } from '../core/clock.ts'
import { type Asker, type Breakers, breakers, type LeftAlone, type LeftBy } from './breaker.ts'

const OPEN_MS = 30 * SECOND_MS

const asking = (project_id: string, kind: Asker['kind'] = 'chat'): Asker => ({ kind, caller: { project_id } })
const B = asking('prj_b')
const C = asking('prj_c')

/** The circuits as the chat calls of one project see them, and they alone. */
function seenBy(asker: Asker, inner: Breakers) {
  const state = (id: string) => {
    if (inner.leftAlone(id, asker)) return 'open'
    const isIt = ({ target, kind = asker.kind }: LeftAlone) => target === id && kind === asker.kind
    return inner.notClosed(asker.caller.project_id).some(isIt) ? 'half_open' : 'closed'
  }
  return {
    allows: (id: string) => inner.allows(id, asker),
    succeeded: (id: string) => inner.succeeded(id, asker),
    failed: (id: string) => inner.failed(id, asker, 'status 500'),
    openForMs: (id: string) => inner.leftAlone(id, asker)?.wait_ms,
    state,
  }
}
type Seen = ReturnType<typeof seenBy>

function scene() {
  const clock = heldClock()
  const circuit = seenBy(B, breakers(clock))
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

test.each(['too_large', 'too_many_parts'])('R78 an answer that is %s closes a target to nobody else', (failure) => {
  const all = breakers(heldClock())
  for (const asker of [B, C, B, C, B, C, B, C, B, C]) all.failed('a', asker, failure)
  expect([B, C, asking('prj_d')].map((asker) => all.allows('a', asker))).toEqual([false, false, true])
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
const oneProbeAtATime = (build: (clock: HeldClock) => Seen) =>
  fc.property(steps, (taken) => {
    const clock = heldClock()
    const circuit = build(clock)
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
  fc.assert(
    oneProbeAtATime((clock) => seenBy(B, breakers(clock))),
    { numRuns: 1_000 },
  )
})

test('R47 planted: a half-open circuit that lets everybody through, or nobody ever, is caught', () => {
  const changed = (change: (inner: Seen) => Seen['allows']) => (clock: HeldClock) => {
    const inner = seenBy(B, breakers(clock))
    return { ...inner, allows: change(inner) }
  }
  const everybody = changed((inner) => (id) => inner.state(id) !== 'open')
  const nobody = changed((inner) => (id) => inner.state(id) === 'closed')
  const caught = (build: (clock: HeldClock) => Seen) => fc.check(oneProbeAtATime(build), { numRuns: 1_000 }).failed
  expect([caught(everybody), caught(nobody)]).toEqual([true, true])
})

function shared() {
  const clock = heldClock()
  const opened: LeftBy[] = []
  const circuits = breakers(clock, ({ left_by, is_open }) => void (is_open && opened.push(left_by)))
  const fail = (times: number, asker: Asker, failure = 'status 500') => {
    for (let n = 0; n < times; n++) circuits.failed('a', asker, failure)
  }
  const state = (asker: Asker) => seenBy(asker, circuits).state('a')
  return { clock, circuits, opened, fail, state }
}

test('R78 failures of one project close the target to its calls of that kind, and to no others', () => {
  const { circuits, opened, fail, state } = shared()
  fail(50, B)
  expect([state(B), state(asking('prj_b', 'embeddings')), state(C)]).toEqual(['open', 'closed', 'closed'])
  expect([circuits.allows('a', B), circuits.allows('a', C)]).toEqual([false, true])
  expect([opened, circuits.count()]).toEqual([['project'], { everyone: 0, project: 1 }])
  expect(circuits.notClosed('prj_b')).toEqual([{ target: 'a', left_by: 'project', kind: 'chat' }])
  expect(circuits.notClosed('prj_c')).toEqual([])
  expect(circuits.leftAlone('a', B)?.reason).toContain('this project’s chat calls')
})

test('R78 five connections in a row that fail close it to everyone, whosever they were', () => {
  const { circuits, opened, fail, state } = shared()
  fail(4, B, 'connect')
  expect(state(C)).toBe('closed')
  fail(1, B, 'connect')
  expect([state(B), state(C), state(asking('prj_d', 'embeddings'))]).toEqual(['open', 'open', 'open'])
  expect(opened).toEqual(['project', 'everyone'])
  expect(circuits.notClosed('prj_c')).toEqual([{ target: 'a', left_by: 'everyone', kind: undefined }])
  expect(circuits.leftAlone('a', C)?.reason).not.toContain('this project')
})

test('R78 five failures in a row in which two projects have two each close it to everyone', () => {
  const { fail, state } = shared()
  fail(3, B)
  fail(2, C)
  expect(state(asking('prj_d'))).toBe('open')
})

test('R78 one failure of a second project is chance: others go on', () => {
  const { fail, state } = shared()
  fail(20, B)
  fail(1, C)
  expect([state(C), state(asking('prj_d'))]).toEqual(['closed', 'closed'])
})

test('R78 while calls of anybody succeed, one project’s failures and another’s do not add up', () => {
  const { circuits, fail, state } = shared()
  for (let n = 0; n < 10; n++) {
    fail(2, B)
    fail(2, C)
    circuits.succeeded('a', asking('prj_d'))
  }
  expect([state(B), state(C), state(asking('prj_d'))]).toEqual(['open', 'open', 'closed'])
})

test('R78 after 30 s one call of each project finds out, so none keeps another from it', () => {
  const { clock, circuits, fail, state } = shared()
  fail(5, B, 'connect')
  clock.advance(OPEN_MS)
  const D = asking('prj_d')
  expect([D, D, C, C].map((asker) => circuits.allows('a', asker))).toEqual([true, false, true, false])
  circuits.succeeded('a', C)
  expect([state(C), state(D), circuits.allows('a', D)]).toEqual(['closed', 'closed', true])
  expect(state(B)).toBe('half_open')
})

test('R78 a probe that is answered, though with a failure, shows that there are connections again', () => {
  const { clock, circuits, fail, state } = shared()
  fail(5, B, 'connect')
  clock.advance(OPEN_MS)
  circuits.allows('a', C)
  fail(1, C)
  expect(state(asking('prj_d'))).toBe('closed')
})

test('R78 a probe that finds no connection closes it to everyone for another 30 s', () => {
  const { clock, circuits, fail, state } = shared()
  fail(5, B, 'connect')
  clock.advance(OPEN_MS)
  circuits.allows('a', C)
  fail(1, C, 'connect')
  expect([state(C), state(asking('prj_d'))]).toEqual(['open', 'open'])
})

test('R78 closed by two projects, it takes the probes of two to close it again', () => {
  const { clock, fail, state } = shared()
  const D = asking('prj_d')
  fail(5, B)
  fail(5, C)
  expect(state(D)).toBe('open')
  clock.advance(OPEN_MS)
  fail(1, B)
  expect([state(B), state(D)]).toEqual(['open', 'half_open'])
  fail(1, C)
  expect(state(D)).toBe('open')
})

test('R78 ten thousand circuits of one target are kept, and no more', () => {
  const { circuits } = shared()
  for (let n = 0; n <= 10_000; n++)
    for (let times = 0; times < 5; times++) circuits.failed('a', asking(`prj_${n}`), 'x')
  expect(circuits.count().project).toBe(10_000)
})
