// What the page of usage shows, as its address says it: which time, what is left out, added up by what.
import type { Span, UsageStep } from '../../api/timeline-calls.ts'
import type { UsageFilters, UsageGroup } from '../../api/usage-calls.ts'
import { count, money, shortCount } from '../../parts/amounts.ts'
import { spanInFrame, type TimeFrame, timeFrameIn } from '../../parts/periods.ts'
import { failedIn } from '../overview/failures.ts'

export const DIMENSIONS = {
  model: 'Model',
  key_id: 'Key',
  provider: 'Provider',
  profile: 'Profile',
  cluster_id: 'Cluster',
  session_id: 'Session',
  bundle_id: 'Bundle',
  tag: 'Tag',
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
  'tag',
] as const satisfies Dimension[]
export type Grouping = (typeof GROUPINGS)[number]

export interface UsageFrame extends TimeFrame {
  by: Grouping
  /** Whose values are told apart, where it is added up by a tag. */
  tag_name: string
  compare: boolean
  filters: UsageFilters & Partial<Record<Dimension, string>>
}

const USUAL_TAG = 'team'

export function frameFrom(params: URLSearchParams): UsageFrame {
  const given = DIMENSION_IDS.flatMap((id) => (params.get(id) ? [[id, params.get(id)]] : []))
  return {
    ...timeFrameIn(params, '30d'),
    by: GROUPINGS.find((id) => id === params.get('by')) ?? 'model',
    tag_name: params.get('tag_name') || USUAL_TAG,
    compare: params.get('compare') === 'yes',
    filters: Object.fromEntries(given),
  }
}

/** As the service is asked to add it up. */
export const groupedBy = ({ by, tag_name }: Pick<UsageFrame, 'by' | 'tag_name'>) =>
  by === 'tag' ? `tag:${tag_name}` : by

/** A value of a tag is told by the whole tag, which is what can be asked for. */
export const withWholeTag = (group: UsageGroup, { by, tag_name }: Pick<UsageFrame, 'by' | 'tag_name'>): UsageGroup =>
  by === 'tag' && group.tag ? { ...group, tag: `${tag_name}=${group.tag}` } : group

/** Only events know these: there is no telling how such groups ended. */
export const hasOutcomes = (by: Grouping) => by !== 'bundle_id' && by !== 'tag'

export const spanIn = (frame: UsageFrame, now_ms: number): Span => spanInFrame(frame, now_ms, '30d')

interface Measure {
  label: string
  format(value: number): string
  ofStep(step: UsageStep): number
  /** By which groups are ranked. Sums do not tell what failed: that is ranked by outcomes. */
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
    label: 'Failed',
    format: count,
    ofStep: failedIn,
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
