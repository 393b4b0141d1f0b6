// §8.2.3: how generations ended and how long they took, group by group: what failed most, and what is slow.
import { type Static, Type } from 'typebox'
import { Refusal } from '../core/refusal.ts'
import { orNull, storable } from '../core/shapes.ts'
import { instant } from '../core/text-values.ts'
import { assertRange, filters, type UsageFilter, usageFilter } from './usage-query.ts'
import { DIMENSIONS, type Dimension, mergeSpread, type Spread } from './usage-rollup.ts'
import { estimated } from './usage-timeline.ts'

/** How many are named in one question, and how many of those that failed most are told beside them. */
const NAMES_MAX = 100
const LATEST_MS = Number.MAX_SAFE_INTEGER

export const OutcomeQuery = Type.Object({
  from: Type.Optional(Type.String({ description: 'Only from this RFC 3339 time on.' })),
  to: Type.Optional(Type.String({ description: 'Only before this RFC 3339 time.' })),
  ...filters,
  group_by: Type.Optional(Type.String({ description: `One of ${DIMENSIONS.join(', ')}. Required.` })),
  name: Type.Optional(
    Type.Union([Type.String(), Type.Array(Type.String())], {
      description: `Groups to tell of, at most ${NAMES_MAX}, beside those that failed most.`,
    }),
  ),
})

const latency = () => orNull(Type.Integer())

export const UsageOutcome = Type.Object(
  {
    object: Type.Literal('usage_outcome'),
    name: Type.String({ description: 'Of the group; empty for what ran on no cluster.' }),
    requests: Type.Integer(),
    failed: Type.Integer({ description: 'Neither completed nor left by its client.' }),
    by_status: Type.Record(Type.String(), Type.Integer()),
    duration_p50_ms: latency(),
    duration_p95_ms: latency(),
    ttft_p50_ms: latency(),
    ttft_p95_ms: latency(),
  },
  { title: 'UsageOutcome' },
)
export type UsageOutcome = Static<typeof UsageOutcome>

export interface OutcomeQuestion {
  filter: UsageFilter
  by: Dimension
  names: readonly string[]
  /** How many of those that failed most. */
  limit: number
}

export function outcomeQuestion(query: Static<typeof OutcomeQuery>): OutcomeQuestion {
  const { from, to, group_by, name = [] } = query
  const by = DIMENSIONS.find((dimension) => dimension === group_by)
  if (!by) throw new Refusal('invalid_request', `'group_by' must be one of ${DIMENSIONS.join(', ')}.`)
  const names = typeof name === 'string' ? [name] : name
  if (names.length > NAMES_MAX) throw new Refusal('invalid_request', `'name' must be given at most ${NAMES_MAX} times.`)
  const from_ms = from === undefined ? 0 : instant('from', from)
  const to_ms = to === undefined ? LATEST_MS : instant('to', to)
  assertRange(from_ms, to_ms)
  return {
    filter: usageFilter(query, from_ms, to_ms),
    by,
    names: names.map((one) => storable('name', one)),
    limit: NAMES_MAX,
  }
}

/** A part of what is known of a group. */
export interface OutcomePart {
  name: string
  spread: Spread
}

const ENDED_WELL = ['completed', 'client_left']

/** What is known of groups, part by part. */
export function outcomeSums() {
  const groups = new Map<string, Spread>()
  return {
    add({ name, spread }: OutcomePart): void {
      const group = groups.get(name)
      if (group) mergeSpread(group, spread)
      else groups.set(name, spread)
    },

    /** What failed most comes first, then what was asked for most. */
    outcomes: (): UsageOutcome[] => [...groups].map(([name, spread]) => outcomeOf(name, spread)).toSorted(worstFirst),
  }
}

function outcomeOf(name: string, spread: Spread): UsageOutcome {
  const counts = Object.entries(spread.status)
  const sum = (some: typeof counts) => some.reduce((total, [, number]) => total + number, 0)
  return {
    object: 'usage_outcome',
    name,
    requests: sum(counts),
    failed: sum(counts.filter(([status]) => !ENDED_WELL.includes(status))),
    by_status: spread.status,
    ...estimated(spread),
  }
}

const worstFirst = (one: UsageOutcome, other: UsageOutcome) =>
  other.failed - one.failed || other.requests - one.requests || (one.name < other.name ? -1 : 1)
