// Ids are opaque to clients; the prefix tells a person what they are looking at (§2). The only randomness there is.
import { randomFillSync } from 'node:crypto'

export type IdPrefix =
  | 'key'
  | 'byc'
  | 'prj'
  | 'usr'
  | 'req'
  | 'trc'
  | 'ah'
  | 'pcr'
  | 'als'
  | 'viw'
  | 'alr'
  | 'sub'
  | 'ses'
  | 'sev'
  | 'hld'
  | 'resp'
  | 'sgn'
  | 'inv'
  | 'aud'
  | 'art'
  | 'bnd'
  | 'prg'
  | 'rpl'
  | 'nch'
  | 'evt'
  | 'dlv'
  | 'tbg'
  | 'idn'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const ID_LENGTH = 20 // 119 bits: no two ids ever meet
const UNBIASED_BYTES = 248 // 4 × 62: bytes above would favour the first letters, so they are thrown away

// Random bytes are drawn 4 KiB at a time: one system call serves some hundred ids.
const pool = Buffer.alloc(4096)
let used = pool.length

function refill(): void {
  randomFillSync(pool)
  used = 0
}

/** For a cipher: never the same twice. */
export function randomNonce(length: number): Buffer {
  if (used + length > pool.length) refill()
  const nonce = Buffer.from(pool.subarray(used, used + length))
  pool.fill(0, used, used + length)
  used += length
  return nonce
}

export function randomBase62(length: number): string {
  let text = ''
  while (text.length < length) {
    if (used === pool.length) refill()
    const byte = pool[used] as number
    pool[used++] = 0 // what became part of a secret does not stay behind in memory
    if (byte < UNBIASED_BYTES) text += BASE62[byte % 62]
  }
  return text
}

/** From 0 to below 1, in steps of a 3844th: for pauses that must not fall together. */
export function randomFraction(): number {
  const [high = '0', low = '0'] = randomBase62(2)
  return (BASE62.indexOf(high) * 62 + BASE62.indexOf(low)) / 62 ** 2
}

export function newId<P extends IdPrefix>(prefix: P): `${P}_${string}` {
  return `${prefix}_${randomBase62(ID_LENGTH)}`
}

const TIME_LENGTH = 8 // base62 milliseconds, good for six thousand years

/** What ids of this moment begin with: as text they stand in the order of their times. */
export const traceIdsFrom = (time_ms: number) => `trc_${base62(time_ms, TIME_LENGTH)}`

/** When it was made; undefined where it is no id of ours. */
export function timeOfTrace(trace_id: string): number | undefined {
  if (!/^trc_[0-9A-Za-z]{20}$/.test(trace_id)) return undefined
  const letters = [...trace_id.slice(PREFIX_LENGTH, PREFIX_LENGTH + TIME_LENGTH)]
  return letters.reduce((sum, letter) => sum * 62 + BASE62.indexOf(letter), 0)
}

/**
 * A generation's id begins with its time, so that usage can be partitioned by its own key, and an index of millions of
 * ids grows at one end. 71 random bits follow: no two of one millisecond ever meet.
 */
export const newTraceId = (now: number): `trc_${string}` => `trc_${timed(now)}`

/** R80: a request and the generation that it asks for have one name, but for the prefix. */
export const newRequestId = (now: number): `req_${string}` => `req_${timed(now)}`

export const traceIdOf = (request_id: string): `trc_${string}` => `trc_${request_id.slice(PREFIX_LENGTH)}`
export const requestIdOf = (trace_id: string): `req_${string}` => `req_${trace_id.slice(PREFIX_LENGTH)}`

const PREFIX_LENGTH = 'req_'.length

const timed = (now: number) => `${base62(now, TIME_LENGTH)}${randomBase62(ID_LENGTH - TIME_LENGTH)}`

export function base62(value: number, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest = Math.floor(rest / 62)) text = BASE62[rest % 62] + text
  return text
}

const PER_MS = 1_024
let lastSequence = 0

/** R11: a number that grows with every creation, so that equal times still list in the order of insertion. */
export function nextSequence(now: number): number {
  lastSequence = Math.max(lastSequence + 1, now * PER_MS)
  return lastSequence
}
