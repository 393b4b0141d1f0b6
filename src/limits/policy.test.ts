// R51: the defaults, and whose limits hold for a key.
import { expect, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import type { Ask, Layer, Verdict } from '../counters/counters.ts'
import { memoryCounters } from '../counters/memory.ts'
import { parseConfig } from '../start/config-file.ts'
import { keyLimits, type Limits, tokensOnArrival } from './policy.ts'
import { slidingWindow } from './sliding-window.ts'

const limitsOf = (limits: object): Limits => parseConfig(JSON.stringify({ limits }), 'the test', {}).limits
const defaults = limitsOf({})

/** What a generation without an output limit and with two thousand characters of prompt counts as. */
const TOKENS = tokensOnArrival({ input_estimate: 500, output_limit: undefined, choices: 1 })

/** Every limit that a call of a script meets, whether it reads or generates. */
function asksOf(limits: Limits): Ask[] {
  const ask = (layer: Layer, name: string, limit: number, amount = 1): Ask => ({
    ...{ layer, name, limit, amount },
    subject: 'the script',
    home: 'its project',
    shadow: false,
  })
  return [
    ask('edge', 'read_per_minute', limits.edge.read_per_minute),
    ask('edge', 'inference_per_minute', limits.edge.inference_per_minute),
    ask('key', 'requests_per_minute', limits.key.requests_per_minute),
    ask('key', 'tokens_per_minute', limits.key.tokens_per_minute, TOKENS),
    ask('project', 'requests_per_minute', limits.project.requests_per_minute),
  ]
}

/** How many of a script's calls are refused, where `calls` of them come each second for so many seconds. */
function refusals(limits: Limits, calls: number, seconds: number): number {
  const counters = memoryCounters(slidingWindow)
  let refused = 0
  for (let n = 0; n < calls * seconds; n++) {
    const now = NOON + Math.floor((n * 1_000) / calls)
    if ((counters.take(asksOf(limits), now) as Verdict).kind === 'refused') refused++
  }
  return refused
}

test('R51 a hundred calls a second for five minutes, with one key from one address: none is refused', () => {
  expect(refusals(defaults, 100, 300)).toBe(0)
})

test('R51 nor where those of a whole minute come at once, and again, and again', () => {
  expect(refusals(defaults, 6_000, 3)).toBe(0)
})

test('R51 planted: a limit of exactly a hundred a second is caught, since a window has 61 seconds', () => {
  expect(refusals(limitsOf({ key: { requests_per_minute: 6_000 } }), 100, 300)).toBeGreaterThan(0)
})

test('§8.1 a key has its own limits where it has any, and those of every key for the rest', () => {
  const rates = { requests_per_minute: null, tokens_per_minute: null, concurrent_streams: null }
  const none = { ...rates, max_parallel_requests: null }
  expect(keyLimits(defaults.key, undefined)).toEqual(defaults.key)
  expect(keyLimits(defaults.key, none)).toEqual(defaults.key)
  expect(keyLimits(defaults.key, { ...none, tokens_per_minute: 7 })).toEqual({ ...defaults.key, tokens_per_minute: 7 })
})

test.each([
  ['the limit that the caller set', { input_estimate: 10, output_limit: 50, choices: 1 }, 60],
  ['what is usual, for each choice', { input_estimate: 10, output_limit: undefined, choices: 3 }, 3_010],
  ['nothing more, for an embedding', { input_estimate: 10, output_limit: 0, choices: 1 }, 10],
  ['no more than a number holds', { input_estimate: 10, output_limit: 1e300, choices: 1 }, Number.MAX_SAFE_INTEGER],
])('§8.1 on arrival a generation counts as its prompt and %s', (_case, generation, tokens) => {
  expect(tokensOnArrival(generation)).toBe(tokens)
})
