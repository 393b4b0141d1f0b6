// What the page of usage shows, as its address says it: which time, what is left out, added up by what.
import type { Span, UsageStep } from '../../api/timeline-calls.ts'
import type { UsageFilters, UsageGroup } from '../../api/usage-calls.ts'
import { count, money, shortCount } from '../../parts/amounts.ts'
import { type Period, periodFrom, spanOf, spanOfDays } from '../../parts/periods.ts'

export const DIMENSIONS = {
  model: 'Model',
  key_id: 'Key',
  provider: 'Provider',
  profile: 'Profile',
  cluster_id: 'Cluster',
  session_id: 'Session',
  bundle_id: 'Bundle',
} as const
export type Dimension = keyof typeof DIMENSIONS
export const DIMENSION_IDS = Object.keys(DIMENSIONS) as Dimension[]

/** A session has a page of events, and no sums. */
export const GROUPINGS = [
  'model',
  'key_id',
  'provider',
  'profile',
  'cluster_id',
  'bundle_id',
] as const satisfies Dimension[]
export type Grouping = (typeof GROUPINGS)[number]

export interface UsageFrame {
  range: Period | 'custom'
  first_day: string
  last_day: string
  by: Grouping
  compare: boolean
  filters: UsageFilters & Partial<Record<Dimension, string>>
}

export function frameFrom(params: URLSearchParams): UsageFrame {
  const [first_day, last_day] = [params.get('from') ?? '', params.get('to') ?? '']
  const given = DIMENSION_IDS.flatMap((id) => (params.get(id) ? [[id, params.get(id)]] : []))
  return {
    range: params.get('range') === 'custom' ? 'custom' : periodFrom(params.get('range'), '30d'),
    first_day,
    last_day,
    by: GROUPINGS.find((id) => id === params.get('by')) ?? 'model',
    compare: params.get('compare') === 'yes',
    filters: Object.fromEntries(given),
  }
}

/** Days that make no sense are as good as none: the last 30 days are shown. */
export function spanIn({ range, first_day, last_day }: UsageFrame, now_ms: number): Span {
  const chosen = range === 'custom' ? spanOfDays(first_day, last_day) : undefined
  return chosen ?? spanOf(range === 'custom' ? '30d' : range, now_ms)
}

interface Measure {
  label: string
  format(value: number): string
  ofStep(step: UsageStep): number
  /** By which groups are ranked: sums do not tell errors, there the largest groups are taken. */
  ofGroup(group: UsageGroup): number
}

export const MEASURES = {
  spend: {
    label: 'Spend',
    format: money,
    ofStep: ({ charged_micros }) => charged_micros,
    ofGroup: ({ charged_micros }) => charged_micros,
  },
  savings: {
    label: 'Savings',
    format: money,
    ofStep: ({ savings_micros }) => savings_micros,
    ofGroup: ({ savings_micros }) => savings_micros,
  },
  requests: {
    label: 'Requests',
    format: count,
    ofStep: ({ requests }) => requests,
    ofGroup: ({ events }) => events,
  },
  tokens: {
    label: 'Tokens',
    format: shortCount,
    ofStep: ({ input_tokens, output_tokens }) => input_tokens + output_tokens,
    ofGroup: ({ input_tokens, output_tokens }) => input_tokens + output_tokens,
  },
  errors: {
    label: 'Errors',
    format: count,
    ofStep: ({ errors }) => errors,
    ofGroup: ({ events }) => events,
  },
} as const satisfies Record<string, Measure>
export type MeasureId = keyof typeof MEASURES
export const MEASURE_IDS = Object.keys(MEASURES) as MeasureId[]

export const measureFrom = (text: string | null): MeasureId => MEASURE_IDS.find((id) => id === text) ?? 'spend'

/** Null for what ran on no cluster. */
export const nameOf = (group: UsageGroup, by: Grouping): string | null => group[by] ?? null

/** Whoever looks into a model asks next who used it; whoever looks into anything else, with which model. */
export const drilledInto = (by: Grouping): Grouping => (by === 'model' ? 'key_id' : 'model')
