// Judges a run of aborted streams (R26, §8.1.2, F9): what each client left behind is cleared away within four seconds,
// of which two may pass in waiting for the usage that it owes, or, where it had a key, finished, kept and replayed. Pure.
import type { Execution } from './upstream-process.ts'

/** One stream that was opened and, mostly, left. */
export interface Opened {
  call: string
  keyed: boolean
  /** Undefined where it was read to its end. */
  left_at: number | undefined
  /** What the client had read by then. */
  read: string
}

export interface Replayed {
  call: string
  status: number
  trace_id: string | undefined
  text: string
}

export interface StreamsHistory {
  opened: readonly Opened[]
  /** The retry of each keyed stream. */
  replays: readonly Replayed[]
  executions: readonly Execution[]
  /** From the last abort until the server said that no stream is open; undefined where it never did. */
  drained_ms: number | undefined
  /** Statuses of as many streams at once as a key may have, and of one more. */
  leases: { within: readonly number[]; beyond: number }
  books: {
    held_micros: number
    spent_micros: number
    holds: number
    events: readonly { call: string; charged_micros: number }[]
  }
}

export const WITHIN_MS = 4_000 // R26: its count is waited for during two; the rest is for a busy machine

export const STREAM_CHECKS = {
  gauge: 'open streams told four seconds after the last abort',
  upstream_open: 'upstream calls still running four seconds after their client left',
  unfinished: 'keyed generations that were not finished',
  repeated: 'keyed generations executed other than once',
  not_replayed: 'retries that did not replay what was begun',
  leases: 'stream leases that are not free again',
  books: 'books that do not balance',
} as const

export type StreamCheck = keyof typeof STREAM_CHECKS
export type StreamsVerdict = Record<StreamCheck, string[]>

export function checkStreams(history: StreamsHistory): StreamsVerdict {
  const { opened, executions, drained_ms, leases } = history
  const byCall = new Map<string, Execution[]>()
  for (const execution of executions) byCall.set(execution.call, [...(byCall.get(execution.call) ?? []), execution])
  const keyed = opened.filter((one) => one.keyed)
  const isDrained = drained_ms !== undefined && drained_ms <= WITHIN_MS
  return {
    gauge: isDrained ? [] : [`back to 0 after ${drained_ms?.toFixed(0) ?? 'no'} ms`],
    upstream_open: opened.flatMap((one) => stillOpen(one, byCall.get(one.call) ?? [])),
    unfinished: keyed.flatMap(({ call }) =>
      (byCall.get(call) ?? []).filter(({ ended }) => ended !== 'answered').map(({ ended }) => `${call}: ${ended}`),
    ),
    repeated: keyed.flatMap(({ call }) => {
      const times = byCall.get(call)?.length ?? 0
      return times === 1 ? [] : [`${call}: ${times} times`]
    }),
    not_replayed: notReplayed(history, byCall),
    leases: [
      ...leases.within.filter((status) => status !== 200).map((status) => `within the limit: ${status}`),
      ...(leases.beyond === 429 ? [] : [`beyond the limit: ${leases.beyond}`]),
    ],
    books: checkBooks(history),
  }
}

/** R26: without a key the upstream is let go as soon as the client is. */
function stillOpen({ call, keyed, left_at }: Opened, executions: readonly Execution[]): string[] {
  if (keyed || left_at === undefined) return []
  return executions.flatMap(({ ended_at = Number.POSITIVE_INFINITY }) =>
    ended_at - left_at <= WITHIN_MS ? [] : [`${call}: for ${(ended_at - left_at).toFixed(0)} ms`],
  )
}

function notReplayed({ opened, replays }: StreamsHistory, byCall: ReadonlyMap<string, readonly Execution[]>): string[] {
  const begun = new Map(opened.map((one) => [one.call, one]))
  return replays.flatMap(({ call, status, trace_id, text }) => {
    const isSame = status === 200 && byCall.get(call)?.some((one) => one.trace_id === trace_id)
    const goesOn = text.startsWith(begun.get(call)?.read ?? '') && text.endsWith('data: [DONE]\n\n')
    return isSame && goesOn ? [] : [`${call}: ${status}, ${goesOn ? 'of another execution' : 'with other bytes'}`]
  })
}

function checkBooks({ books }: StreamsHistory): string[] {
  const { held_micros, spent_micros, holds, events } = books
  const in_events = events.reduce((sum, { charged_micros }) => sum + charged_micros, 0)
  const calls = new Set(events.map(({ call }) => call))
  return [
    ...(held_micros === 0 && holds === 0 ? [] : [`${held_micros} micro-USD are held by ${holds} holds`]),
    ...(spent_micros === in_events ? [] : [`${spent_micros} spent, the events say ${in_events}`]),
    ...(calls.size === events.length ? [] : [`${events.length - calls.size} calls have a second event`]),
  ]
}
