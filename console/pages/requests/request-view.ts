// Which requests are shown, as the address has it, and as the service is asked for it.
import type { RequestAsked } from '../../api/request-calls.ts'
import { between } from '../../api/timeline-calls.ts'
import { money } from '../../parts/amounts.ts'
import { duration } from '../../parts/figures.ts'
import { PERIOD_IDS, PERIODS, type Period, spanOf } from '../../parts/periods.ts'
import { WRONG } from '../overview/refusal-layers.ts'

export const FILTERS = {
  key_id: 'Key',
  model: 'Model or alias',
  provider: 'Provider',
  alias_release_id: 'Release',
  cluster_id: 'Cluster',
  session_id: 'Session',
  bundle_id: 'Bundle',
  tag: 'Tag',
  min_charged_micros: 'Cost from',
  min_ttft_ms: 'First token from',
} as const
export type FilterId = keyof typeof FILTERS
export const FILTER_IDS = Object.keys(FILTERS) as FilterId[]

/** What is chosen most. The address has what the service takes. */
export const OUTCOMES = [
  { id: '', label: 'All' },
  { id: WRONG, label: 'Went wrong' },
  { id: 'refused', label: 'Refused' },
  { id: 'completed', label: 'Completed' },
] as const
export type OutcomeId = (typeof OUTCOMES)[number]['id']

export interface RequestView {
  outcome: string | undefined
  layer: string | undefined
  error: string | undefined
  range: Period | undefined
  /** A stretch of time that a chart led to; it stands in the place of `range`. */
  from: string | undefined
  to: string | undefined
  filters: Partial<Record<FilterId, string>>
  after: string | undefined
}

export function viewIn(params: URLSearchParams): RequestView {
  const given = (name: string) => params.get(name) || undefined
  const filters: RequestView['filters'] = {}
  for (const id of FILTER_IDS) {
    const value = given(id)
    if (value !== undefined) filters[id] = value
  }
  const range = PERIOD_IDS.find((id) => id === params.get('range'))
  const [from, to] = [instantIn(given('from')), instantIn(given('to'))]
  const [outcome, layer, error] = [given('outcome'), given('layer'), given('error')]
  return { outcome, layer, error, range, from, to, filters, after: given('after') }
}

const instantIn = (text: string | undefined) => (Number.isNaN(Date.parse(text ?? '')) ? undefined : text)

export const isNarrowed = ({ outcome, layer, error, range, from, to, filters }: RequestView) =>
  (outcome ?? layer ?? error ?? range ?? from ?? to) !== undefined || Object.keys(filters).length > 0

export function askedBy(view: RequestView, now_ms: number): RequestAsked {
  const { outcome, layer, error, range, to, after, filters } = view
  const from = view.from ?? (range && between(spanOf(range, now_ms)).from)
  const asked = { outcome, layer, error, from, to, after, ...filters }
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined))
}

export const RANGES = [
  { value: '', label: 'Any time' },
  ...PERIOD_IDS.map((id) => ({ value: id, label: `Last ${PERIODS[id].label}` })),
]

/** What was typed, as the address has it; undefined where it is nothing that can be asked for. */
export function typedFilter(id: FilterId, text: string): string | undefined {
  const typed = text.trim()
  if (typed === '') return undefined
  if (id === 'min_charged_micros') return wholeFrom(typed.replace(/^\$/, ''), 1_000_000)
  if (id === 'min_ttft_ms')
    return /ms$/.test(typed) ? wholeFrom(typed.slice(0, -2), 1) : wholeFrom(typed.replace(/s$/, ''), 1_000)
  return typed
}

function wholeFrom(text: string, times: number): string | undefined {
  const digits = text.trim()
  return /^\d+(\.\d+)?$/.test(digits) ? String(Math.round(Number(digits) * times)) : undefined
}

export const PLACEHOLDERS: Record<FilterId, string> = {
  key_id: 'A key’s name or id',
  model: 'A model or an alias',
  provider: 'A provider',
  alias_release_id: 'A release, alr_…',
  cluster_id: 'A cluster’s name or id',
  session_id: 'A session, ses_…',
  bundle_id: 'A bundle, bnd_…',
  tag: 'A tag, such as team=search',
  min_charged_micros: 'Dollars, such as 0.05',
  min_ttft_ms: 'Seconds, such as 2',
}

/** A filter's value as people read it, where it is no name. */
export const shownValue = (id: FilterId, value: string) =>
  id === 'min_charged_micros' ? money(Number(value)) : id === 'min_ttft_ms' ? duration(Number(value)) : value
