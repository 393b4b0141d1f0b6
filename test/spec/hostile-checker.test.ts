// The checker of hostile runs: that it passes what is right, and finds each kind of harm in a history made by hand.
import { expect, test } from 'vitest'
import {
  type Bounds,
  checkTrial,
  type HostileCheck,
  latency,
  type Trial,
  type VictimCall,
} from '../torture/hostile-checker.ts'
import { longestTurnMs, loopDelayIn } from '../torture/machine-figures.ts'

const BOUNDS: Bounds = {
  p99_ratio: 2,
  rss_mb: 600,
  loop_ms: 50,
  store_grew_mb: 256,
  price: { input_micros: 10, output_micros: 1_000 },
  waiver_micros: 1_000_000,
}

const call = (n: number, more: Partial<VictimCall> = {}): VictimCall => ({
  what: n % 2 === 0 ? 'whole' : 'stream',
  took_ms: 20 + (n % 10),
  trace_id: `trc_${n}`,
  charged_micros: 20_300,
  ...more,
})

const calls = (from: number, more: Partial<VictimCall> = {}) =>
  Array.from({ length: 100 }, (_, n) => call(from + n, more))

/** In which nothing is wrong: two hundred calls, and an attacker that pays. */
const fine: Trial = {
  attack: 'none',
  quiet: calls(0),
  under: [...calls(100), { what: 'list', took_ms: 3 }],
  servers: [{ rss_mb: 200, loop_ms: 12, died: false }],
  produced: [{ trace_id: 'trc_a', who: 'none', input: 50, output: 200, factor: 1 }],
  booked: {
    victim: Array.from({ length: 200 }, (_, n) => ({
      ...{ trace_id: `trc_${n}`, charged_micros: 20_300, waived_micros: 0 },
    })),
    attacker: [{ trace_id: 'trc_a', charged_micros: 200_500, waived_micros: 0 }],
  },
  gained: [],
  stuck_events: 0,
  store_grew_mb: 3,
}

const foundIn = (trial: Trial, bounds = BOUNDS) =>
  Object.entries(checkTrial(trial, bounds)).flatMap(([check, found]) => (found.length > 0 ? [check] : []))

test('R78 a run in which nothing happened passes', () => {
  expect(foundIn(fine)).toEqual([])
})

const failed = call(150, { failure: '503', charged_micros: undefined })
const server = { rss_mb: 200, loop_ms: 12, died: false }
const unpaid = { trace_id: 'trc_b', who: 'none', input: 0, output: 500, factor: 1 }

test.each<[string, HostileCheck, Partial<Trial>]>([
  ['R78 a call that failed', 'failures', { under: [...calls(100), failed] }],
  ['R70 a list that failed', 'failures', { under: [...calls(100), { what: 'list', took_ms: 9, failure: '500' }] }],
  ['R78 calls that took longer', 'slower', { under: calls(100, { took_ms: 59 }) }],
  [
    'R41 a charge that was told otherwise',
    'victim_money',
    { quiet: [call(0, { charged_micros: 1 }), ...calls(0).slice(1)] },
  ],
  [
    'R41 a charge that was not told',
    'victim_money',
    { quiet: [call(0, { charged_micros: undefined }), ...calls(0).slice(1)] },
  ],
  ['R42 a charge for what was never asked', 'victim_money', { quiet: calls(0).slice(1) }],
  [
    'R43 an answer that is in no book',
    'victim_money',
    { booked: { ...fine.booked, victim: fine.booked.victim.slice(1) } },
  ],
  ['R76 tokens without a charge', 'unpaid', { produced: [...fine.produced, unpaid] }],
  ['R76 a dearer call at the list price', 'unpaid', { produced: fine.produced.map((one) => ({ ...one, factor: 2 })) }],
  ['R12 something gained', 'gained', { gained: ['an answer of the service inside'] }],
  ['R77 memory', 'memory', { servers: [server, { ...server, rss_mb: 601 }] }],
  ['R77 a long turn', 'loop', { servers: [{ ...server, loop_ms: 51 }] }],
  ['R77 a server that died', 'died', { servers: [{ ...server, died: true }] }],
  ['R78 a roll-up that stands still', 'stuck', { stuck_events: 1 }],
  ['R78 a store that grows', 'store', { store_grew_mb: 300 }],
])('%s is found', (_what, check, change) => {
  expect(foundIn({ ...fine, ...change })).toEqual([check])
})

test('R71 what deadlines waived is no loss within the waiver of the day, and one beyond it', () => {
  const waived = (calls: number): Trial => ({
    ...fine,
    produced: Array.from({ length: calls }, (_, n) => ({ ...unpaid, trace_id: `trc_w${n}` })),
    booked: {
      victim: fine.booked.victim,
      attacker: Array.from({ length: calls }, (_, n) => ({
        ...{ trace_id: `trc_w${n}`, charged_micros: 0, waived_micros: 1 },
      })),
    },
  })
  expect(foundIn(waived(2))).toEqual([]) // two times $0.50
  expect(foundIn(waived(3))).toEqual(['unpaid'])
})

test('R71 the waiver is one in a hundred of what the project was charged, where that is more', () => {
  const attacker = [
    { trace_id: 'trc_a', charged_micros: 200_000_000, waived_micros: 0 },
    ...[1, 2, 3, 4].map((n) => ({ trace_id: `trc_w${n}`, charged_micros: 0, waived_micros: 500_000 })),
  ]
  const produced = [1, 2, 3, 4].map((n) => ({ ...unpaid, trace_id: `trc_w${n}` }))
  expect(foundIn({ ...fine, produced, booked: { ...fine.booked, attacker } })).toEqual([])
})

test('R78 who failed says nothing of its latency, and a busy machine is not judged by it', () => {
  const slow = { ...fine, under: calls(100, { took_ms: 500 }) }
  expect(foundIn(slow)).toEqual(['slower'])
  expect(foundIn(slow, { ...BOUNDS, p99_ratio: undefined })).toEqual([])
  expect(latency([call(0, { took_ms: 9 }), call(1, { took_ms: 30_000, failure: 'no answer' })], 0.99)).toBe(9)
})

const histogram = (counts: Record<string, number>) =>
  Object.entries(counts)
    .map(([le, count]) => `switchyard_event_loop_delay_seconds_bucket{le="${le}"} ${count}`)
    .join('\n')

test('R77 the longest turn is read from the histogram of before and after', () => {
  const before = loopDelayIn(histogram({ '0.01': 90, '0.05': 100, '0.1': 101, '+Inf': 101 }))
  const after = loopDelayIn(histogram({ '0.01': 190, '0.05': 201, '0.1': 202, '+Inf': 202 }))
  expect(longestTurnMs(before, after)).toBe(50)
  expect(longestTurnMs(before, loopDelayIn(histogram({ '0.01': 190, '0.05': 200, '0.1': 202, '+Inf': 202 })))).toBe(100)
})

test('R77 without a histogram the longest delay of the last scrape is taken, and without either nothing', () => {
  const before = loopDelayIn('')
  expect(longestTurnMs(before, loopDelayIn('nodejs_eventloop_lag_max_seconds 0.072'))).toBeCloseTo(62)
  expect(longestTurnMs(before, loopDelayIn('process_cpu_seconds_total 1'))).toBeUndefined()
})
