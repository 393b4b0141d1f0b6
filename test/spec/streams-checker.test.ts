// The judge of the streams run, judged: each kind of violation is found, and what is right is left alone.
import { describe, expect, test } from 'vitest'
import { checkStreams, type Opened, type StreamCheck, type StreamsHistory } from '../torture/streams-checker.ts'
import type { Execution } from '../torture/upstream-process.ts'

const DONE = 'data: [DONE]\n\n'
const unkeyed: Opened = { call: 'u', keyed: false, left_at: 1_000, read: 'data: a' }
const keyed: Opened = { call: 'k', keyed: true, left_at: 1_000, read: 'data: a' }
const at = (
  call: string,
  ended: Execution['ended'],
  ended_at: number | undefined,
  trace_id = `t-${call}`,
): Execution => ({
  ...{ call, trace_id, provider: 'first', produced: true, ended, ended_at },
})
const replay = { call: 'k', status: 200, trace_id: 't-k', text: `data: abc\n\n${DONE}` }

const history = (change: Partial<StreamsHistory> = {}): StreamsHistory => ({
  opened: [unkeyed, keyed],
  replays: [replay],
  executions: [at('u', 'left', 1_200), at('k', 'answered', 5_000)],
  drained_ms: 300,
  leases: { within: [200, 200], beyond: 429 },
  books: { held_micros: 0, spent_micros: 7, holds: 0, events: [{ call: 'u', charged_micros: 7 }] },
  ...change,
})

const found = (one: StreamsHistory) =>
  Object.entries(checkStreams(one)).flatMap(([name, lines]) => (lines.length > 0 ? [name as StreamCheck] : []))

describe('R26 histories that are right', () => {
  const right: [string, StreamsHistory][] = [
    ['let go of, or finished and replayed', history()],
    ['left before it was heard of', history({ executions: [at('k', 'answered', 5_000)] })],
    ['read to its end', history({ opened: [{ ...unkeyed, left_at: undefined }, keyed] })],
  ]
  test.each(right)('%s', (_case, one) => expect(found(one)).toEqual([]))
})

describe('R26, F9 histories that are wrong', () => {
  const ended = (...executions: Execution[]) => history({ executions })
  const k = at('k', 'answered', 5_000)
  const books = history().books
  const wrong: [string, StreamsHistory, StreamCheck[]][] = [
    ['a stream that stays open', history({ drained_ms: undefined }), ['gauge']],
    ['streams that close too late', history({ drained_ms: 4_001 }), ['gauge']],
    ['an upstream that is let go of too late', ended(at('u', 'left', 5_001), k), ['upstream_open']],
    ['one that is never let go of', ended(at('u', undefined, undefined), k), ['upstream_open']],
    ['one that runs to its end for nobody', ended(at('u', 'answered', 5_500), k), ['upstream_open']],
    ['a keyed one that is let go of', ended(at('u', 'left', 1_100), at('k', 'left', 1_100)), ['unfinished']],
    ['a keyed one executed twice', ended(at('u', 'left', 1_100), k, k), ['repeated']],
    ['a retry with other bytes', history({ replays: [{ ...replay, text: `data: xyz\n\n${DONE}` }] }), ['not_replayed']],
    ['a retry cut short', history({ replays: [{ ...replay, text: 'data: abc\n\n' }] }), ['not_replayed']],
    ['a retry of another execution', history({ replays: [{ ...replay, trace_id: 't-x' }] }), ['not_replayed']],
    ['a lease that is gone', history({ leases: { within: [200, 429], beyond: 429 } }), ['leases']],
    ['a lease too many', history({ leases: { within: [200], beyond: 200 } }), ['leases']],
    ['money that is still held', history({ books: { ...books, held_micros: 3, holds: 1 } }), ['books']],
    ['money that no event has', history({ books: { ...books, spent_micros: 8 } }), ['books']],
  ]
  test.each(wrong)('%s', (_case, one, expected) => expect(found(one)).toEqual(expected))
})
