// R49: the window itself, against arrivals that other limiters get wrong (F7), and what it says about waiting (F8).
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Arrival,
  admitted,
  adversarial,
  fixedWindow,
  limiter,
  peak,
  roundedDown,
  sixtySeconds,
  steady,
  wholeMinute,
} from '../../test/support/arrivals.ts'
import { NOON } from '../../test/support/clock.ts'
import { diceFrom } from '../../test/support/fuzz-values.ts'
import type { WindowRule } from '../counters/cell-table.ts'
import { slidingWindow } from './sliding-window.ts'

const LIMIT = 600
const ARRIVALS = 100_000

describe('F7 never more than the limit in any 60 seconds', () => {
  const patterns = adversarial(LIMIT, ARRIVALS)

  test.each(Object.entries(patterns))('R49 T-60 %s: a hundred thousand arrivals', (name, arrivals) => {
    const times = admitted(LIMIT, arrivals)
    process.stdout.write(`F7 ${name}: ${times.length} admitted, at most ${peak(times)} of ${LIMIT} in 60 s\n`)
    expect(arrivals).toHaveLength(ARRIVALS)
    expect(peak(times)).toBe(LIMIT) // all of it, and not one more
  })

  test('F7 at steady load, at most a sixtieth is refused that could have passed', () => {
    const times = admitted(LIMIT, steady(LIMIT, ARRIVALS))
    const refused_share = 1 - times.length / ARRIVALS
    process.stdout.write(`F7 steady load at the limit: ${(100 * refused_share).toFixed(3)} % refused\n`)
    expect(peak(times)).toBeLessThanOrEqual(LIMIT)
    expect(refused_share).toBeLessThanOrEqual(0.017)
  })

  const fewer = adversarial(LIMIT, ARRIVALS / 10)
  const worst = (rule: WindowRule) => Math.max(...Object.values(fewer).map((all) => peak(admitted(LIMIT, all, rule))))

  test.each<[string, WindowRule]>([
    ['a fixed window', fixedWindow],
    ['sixty seconds without the one under way', sixtySeconds],
  ])('F7 planted: %s is caught, at about twice the limit', (name, rule) => {
    const found = worst(rule)
    process.stdout.write(`F7 planted, ${name}: ${found} of ${LIMIT} in 60 s\n`)
    expect(found).toBeGreaterThan(1.9 * LIMIT)
  })

  test('F24 a clock that is put forward lets at most one further limit through', () => {
    const step_ms = 25 * 3_600_000
    const flood: Arrival[] = Array.from({ length: ARRIVALS }, (_, n) => {
      const at = NOON + n
      return { at, clock: n < ARRIVALS / 2 ? at : at + step_ms }
    })
    expect(peak(admitted(LIMIT, flood))).toBeLessThanOrEqual(2 * LIMIT)
  })

  test('F24 a clock that is set back keeps nobody waiting for the time that it repeats', () => {
    const take = limiter(1)
    expect(take(NOON).kind).toBe('taken')
    const back = NOON - 3_600_000
    expect(take(back)).toMatchObject({ kind: 'refused', wait_s: 61 })
    expect(take(back + 61_000).kind).toBe('taken')
  })
})

describe('F8 Retry-After is true', () => {
  const REFUSALS = 1_000

  /** A random load, up to its first refusal. */
  function refusedAfter(run: number, rule: WindowRule) {
    const dice = diceFrom(run)
    const take = limiter(3 + dice.below(200), rule)
    for (let now = NOON; ; now += dice.below(1 + dice.below(2_000))) {
      const amount = 1 + dice.below(3)
      const verdict = take(now, amount)
      if (verdict.kind === 'refused')
        return (early_s: number) => take(now + ((verdict.wait_s ?? 0) - early_s) * 1_000, amount).kind
    }
  }

  /** Each waits as long as it is told; and another, in the same place, a second less. */
  const passing = (rule: WindowRule, early_s: number, refusals = REFUSALS) =>
    Array.from({ length: refusals }, (_, run) => refusedAfter(run, rule)(early_s)).filter((kind) => kind === 'taken')
      .length

  test('F8 T-61 a thousand refused wait exactly as long as they are told, and pass; a second earlier none does', () => {
    const [passed, passed_early] = [passing(slidingWindow, 0), passing(slidingWindow, 1)]
    process.stdout.write(`F8: ${passed} of ${REFUSALS} passed after Retry-After, ${passed_early} a second earlier\n`)
    expect({ passed, passed_early }).toEqual({ passed: REFUSALS, passed_early: 0 })
  })

  test('F8 planted: a wait that is rounded down, and a whole minute for everybody, are caught', () => {
    expect(passing(roundedDown, 0, 100)).toBeLessThan(50)
    expect(passing(wholeMinute, 1, 100)).toBeGreaterThan(50)
  })

  test('T-68 whoever keeps asking while refused waits no longer for it', () => {
    const take = limiter(3)
    for (const at of [0, 400, 20_000]) take(NOON + at)
    for (let second = 21; second < 61; second++)
      for (let tries = 0; tries < 25; tries++)
        expect(take(NOON + second * 1_000 + tries)).toMatchObject({ kind: 'refused', wait_s: 61 - second })
    expect([take(NOON + 61_000), take(NOON + 61_000), take(NOON + 61_000)].map(({ kind }) => kind)).toEqual([
      'taken',
      'taken',
      'refused',
    ])
  })

  test('T-69 what is more than the whole limit never fits, and no time is named', () => {
    expect(limiter(10)(NOON, 11)).toMatchObject({ kind: 'refused', wait_s: undefined })
    expect(limiter(10)(NOON, 10).kind).toBe('taken')
  })
})

test('R49 against a list of everything that was taken, on random histories', () => {
  const step = fc.record({
    gap_ms: fc.oneof(fc.nat(400), fc.nat(5_000), fc.nat(90_000)),
    amount: fc.integer({ min: 1, max: 12 }),
  })
  const history = fc.array(step, { maxLength: 120, size: 'max' })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), history, (limit, steps) => {
      const take = limiter(limit)
      const log: { second: number; amount: number }[] = []
      const usedAt = (second: number) =>
        log.filter((one) => second - one.second <= 60).reduce((sum, one) => sum + one.amount, 0)
      let now = NOON
      for (const { gap_ms, amount } of steps) {
        now += gap_ms
        const second = Math.floor(now / 1_000)
        const verdict = take(now, amount)
        const fits = usedAt(second) + amount <= limit
        const wait_s = !fits && amount <= limit ? firstFit(second, amount) : undefined
        if (fits) log.push({ second, amount })
        const left = Math.max(0, limit - usedAt(second))
        const told = [verdict.kind, verdict.readings[0]?.left, 'wait_s' in verdict ? verdict.wait_s : undefined]
        const wanted = [fits ? 'taken' : 'refused', left, wait_s]
        if (!isDeepStrictEqual(told, wanted)) expect(told).toEqual(wanted) // to compare is quicker than to expect
      }

      function firstFit(second: number, amount: number): number {
        let wait_s = 1
        while (usedAt(second + wait_s) + amount > limit) wait_s++
        return wait_s
      }
    }),
    { numRuns: 300 },
  )
})
