// What is counted of the generations of one kind: requests, tokens, money and two histograms, in one array of numbers,
// so that a call costs a few additions and no look-up by labels.
import type { Admission, ExecutionMode } from '../headers/agent-headers.ts'
import type { Ending } from '../usage/usage-event.ts'

/** `cached` and `written` are parts of the input, `reasoning` of the output, `missed` of what was repeated. */
export const TOKEN_KINDS = ['input', 'cached', 'written', 'output', 'reasoning', 'repeated', 'missed'] as const
export const MONEY_KINDS = ['charged', 'direct', 'saved', 'waived', 'written_off', 'overage'] as const

/** In seconds. From a cache that answers at once to a queue in front of a large model. */
export const FIRST_TOKEN_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2.5, 5, 7.5, 10, 30, 60]
/** In seconds. Each is twice the one before, as the conventions for generative AI have it, and more for long ones. */
export const DURATION_BUCKETS = [
  ...[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
  ...[163.84, 327.68, 900],
]

/** A generation as far as it is counted. */
export interface CountedCall {
  project_id: string
  mode: ExecutionMode
  ending: Ending
  stream: boolean
  admission: Admission
  queue_ms: number
  ttft_ms: number | null
  received_at: number
  tokens: { input: number; cached: number; written: number; output: number; reasoning: number }
  repeated_tokens_est: number
  waived_micros: number
}

export interface CountedMoney {
  charged_micros: number
  direct_cost_micros: number
  written_off_micros: number
  overage_micros?: number | undefined
}

export const NO_MONEY: CountedMoney = { charged_micros: 0, direct_cost_micros: 0, written_off_micros: 0 }

/** Where in a cell what is counted stands. Of a histogram: its buckets, the last of which is endless, and the sum. */
const REQUESTS = 0
const QUEUED = 1
const QUEUE_SECONDS = 2
const TOKENS = 3
const MONEY = TOKENS + TOKEN_KINDS.length
const FIRST_TOKEN = MONEY + MONEY_KINDS.length
const DURATION = FIRST_TOKEN + FIRST_TOKEN_BUCKETS.length + 2
const SIZE = DURATION + DURATION_BUCKETS.length + 2

export type Cell = Float64Array

export const newCell = (): Cell => new Float64Array(SIZE)

export function addCall(cell: Cell, call: CountedCall, money: CountedMoney, now: number): void {
  const { tokens, repeated_tokens_est, ttft_ms } = call
  const { charged_micros, direct_cost_micros } = money
  add(cell, REQUESTS, 1)
  if (call.admission === 'queued') {
    add(cell, QUEUED, 1)
    add(cell, QUEUE_SECONDS, call.queue_ms / 1_000)
  }
  add(cell, TOKENS, tokens.input)
  add(cell, TOKENS + 1, tokens.cached)
  add(cell, TOKENS + 2, tokens.written)
  add(cell, TOKENS + 3, tokens.output)
  add(cell, TOKENS + 4, tokens.reasoning)
  add(cell, TOKENS + 5, repeated_tokens_est)
  add(cell, TOKENS + 6, Math.max(0, repeated_tokens_est - tokens.cached))
  add(cell, MONEY, charged_micros)
  add(cell, MONEY + 1, direct_cost_micros)
  add(cell, MONEY + 2, Math.max(0, direct_cost_micros - charged_micros))
  add(cell, MONEY + 3, call.waived_micros)
  add(cell, MONEY + 4, money.written_off_micros)
  add(cell, MONEY + 5, money.overage_micros ?? 0)
  // An answer that comes whole has no first token before its last.
  if (call.stream && ttft_ms !== null) observe(cell, FIRST_TOKEN, FIRST_TOKEN_BUCKETS, ttft_ms / 1_000)
  observe(cell, DURATION, DURATION_BUCKETS, Math.max(0, now - call.received_at) / 1_000)
}

function add(cell: Cell, at: number, amount: number): void {
  cell[at] = (cell[at] as number) + amount
}

function observe(cell: Cell, at: number, buckets: readonly number[], seconds: number): void {
  let bucket = 0
  while (bucket < buckets.length && seconds > (buckets[bucket] as number)) bucket++
  add(cell, at + bucket, 1)
  add(cell, at + buckets.length + 1, seconds)
}

const valueAt = (cell: Cell, at: number) => cell[at] as number

export const requestsOf = (cell: Cell) => valueAt(cell, REQUESTS)
export const queuedOf = (cell: Cell) => valueAt(cell, QUEUED)
export const queueSecondsOf = (cell: Cell) => valueAt(cell, QUEUE_SECONDS)
export const tokensOf = (cell: Cell, kind: number) => valueAt(cell, TOKENS + kind)
export const moneyOf = (cell: Cell, kind: number) => valueAt(cell, MONEY + kind)

export interface Histogram {
  /** By bucket, the endless one last; not summed up. */
  counts: readonly number[]
  sum: number
}

export const firstTokenOf = (cell: Cell) => histogramAt(cell, FIRST_TOKEN, FIRST_TOKEN_BUCKETS.length)
export const durationOf = (cell: Cell) => histogramAt(cell, DURATION, DURATION_BUCKETS.length)

const histogramAt = (cell: Cell, at: number, buckets: number): Histogram => ({
  counts: [...cell.subarray(at, at + buckets + 1)],
  sum: valueAt(cell, at + buckets + 1),
})
