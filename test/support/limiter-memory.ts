// Run on its own with --expose-gc: what a million distinct addresses leave in memory, as one line of JSON.
import type { Ask, Verdict } from '../../src/counters/counters.ts'
import { memoryCounters } from '../../src/counters/memory.ts'
import { slidingWindow } from '../../src/limits/sliding-window.ts'
import { NOON } from './clock.ts'

const ADDRESSES = 1_000_000
const collectGarbage = (globalThis as { gc?: () => void }).gc ?? (() => {})
const from = (subject: string): Ask => ({
  layer: 'edge',
  name: 'read_per_minute',
  subject,
  home: subject,
  limit: 100,
  amount: 1,
  shadow: false,
})
const addressOf = (n: number) => `2001:db8:${(n >> 8).toString(16)}:${(n & 255).toString(16)}::/64`

function used(): number {
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

const before = used()
const counters = memoryCounters(slidingWindow)
for (let n = 0; n < 100; n++) counters.take([from('offender')], NOON)
for (let n = 0; n < ADDRESSES; n++) counters.take([from(addressOf(n))], NOON + Math.floor(n / 100))
const offender = (counters.take([from('offender')], NOON + 10_000) as Verdict).kind
const megabytes = Math.round((used() - before) / 1e5) / 10
process.stdout.write(`${JSON.stringify({ addresses: ADDRESSES, cells: counters.cells(), megabytes, offender })}\n`)
