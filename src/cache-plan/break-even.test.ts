// §4.9: break-even lengths, found by halving, against the closed form of the same quadratic; and planted bugs.
import { expect, test } from 'vitest'
import { breakEvenOf, type Lengths, winningLengths } from './break-even.ts'

const PAGE = 64
const LEAST = 256
const MOST = 16_777_216

interface Quadratic {
  /** gain = pairs * n² + tokens * n + fixed */
  pairs: number
  tokens: number
  fixed: number
}

const gainOf = ({ pairs, tokens, fixed }: Quadratic): Lengths => ({
  gainAt: (n) => pairs * n * n + tokens * n + fixed,
  turning_tokens: pairs > 0 ? -tokens / (2 * pairs) : tokens < 0 ? Number.POSITIVE_INFINITY : 0,
})

/** Every page looked at, one by one: slow, and beyond doubt. */
function byLooking({ gainAt }: Lengths) {
  const found: { from_tokens: number; to_tokens: number | null }[] = []
  for (let n = LEAST; n <= MOST; n += PAGE) {
    if (gainAt(n) <= 0) continue
    const last = found.at(-1)
    if (last && last.to_tokens === n - PAGE) last.to_tokens = n
    else found.push({ from_tokens: n, to_tokens: n })
  }
  return found.map((one) => (one.to_tokens === MOST ? { ...one, to_tokens: null } : one))
}

const CASES: [string, Quadratic][] = [
  ['a fetch with a larger fixed part: one root', { pairs: 4.7e-7, tokens: -0.0042, fixed: -6 }],
  ['recompute costs more from the start', { pairs: 1e-7, tokens: 0.01, fixed: 1 }],
  ['wins when short and when long, loses between', { pairs: 1e-6, tokens: -0.1, fixed: 100 }],
  ['dips, and never below', { pairs: 1e-6, tokens: -0.01, fixed: 100 }],
  ['no attention, recompute steeper', { pairs: 0, tokens: 0.01, fixed: -50 }],
  ['no attention, fetch steeper: wins only when short', { pairs: 0, tokens: -0.01, fixed: 50 }],
  ['no attention, never', { pairs: 0, tokens: -0.01, fixed: -50 }],
  ['equal all along: a tie does not win', { pairs: 0, tokens: 0, fixed: 0 }],
  ['beyond the longest that is looked at', { pairs: 1e-16, tokens: -0.1, fixed: -1 }],
]

test.each(CASES)('§4.9 %s', (_case, quadratic) => {
  const lengths = gainOf(quadratic)
  expect(winningLengths(lengths)).toEqual(byLooking(lengths))
})

test('§4.9 the closed form agrees, to the page', () => {
  for (const [pairs, slope, fixed] of [
    [4.7e-7, -0.0042, -6],
    [1e-6, 0.02, -900],
    [3e-8, -0.3, -51],
  ] as const) {
    const root = (-slope + Math.sqrt(slope * slope - 4 * pairs * fixed)) / (2 * pairs)
    const wins = winningLengths(gainOf({ pairs, tokens: slope, fixed }))
    expect(breakEvenOf(wins)).toBe(Math.max(LEAST, Math.ceil(root / PAGE) * PAGE))
  }
})

test('§4.9 planted: a wrong turning point, or a tie that wins, is caught', () => {
  const twice = gainOf({ pairs: 1e-6, tokens: -0.1, fixed: 100 })
  expect(winningLengths({ ...twice, turning_tokens: 0 })).not.toEqual(byLooking(twice))
  const never = gainOf({ pairs: 0, tokens: 0, fixed: 0 })
  expect(winningLengths({ ...never, gainAt: (n) => never.gainAt(n) + Number.EPSILON })).not.toEqual(byLooking(never))
})

test('§4.9 only what wins at every longer length is a break-even', () => {
  expect(breakEvenOf([{ from_tokens: 256, to_tokens: 1_024 }])).toBeNull()
  expect(
    breakEvenOf([
      { from_tokens: 256, to_tokens: 512 },
      { from_tokens: 8_192, to_tokens: null },
    ]),
  ).toBe(8_192)
})
