// Replay runs in words: their state, where they ask, and what was measured.
import type { ReplayComparison, ReplayRun } from '../../api/replay-calls.ts'
import { count, money } from '../../parts/amounts.ts'
import { Badge, type Tone } from '../../parts/badge.tsx'

const TONES: Partial<Record<ReplayRun['status'], Tone>> = {
  completed: 'good',
  failed: 'bad',
  paused: 'warn',
  cancelled: 'warn',
}

export const ReplayStatus = ({ status }: Pick<ReplayRun, 'status'>) => (
  <Badge tone={TONES[status] ?? 'calm'}>{status}</Badge>
)

export const isUnderWay = ({ status }: Pick<ReplayRun, 'status'>) => status === 'queued' || status === 'running'

export function askedAt({ target, overrides }: Pick<ReplayRun, 'target' | 'overrides'>): string {
  const where = target.model ?? target.alias_release_id ?? 'as recorded'
  const cluster = target.cluster_id === undefined ? '' : ` on ${target.cluster_id}`
  const changed = Object.keys(overrides ?? {})
  return `${where}${cluster}${changed.length > 0 ? `, other ${changed.join(', ')}` : ''}`
}

type Measure = ReplayComparison['differences'][number]

const MEASURES: Record<Measure, string> = {
  text: 'Text',
  json: 'JSON',
  tool_names: 'Tools',
  tool_arguments: 'Tools with arguments',
  finish_reason: 'Finish reason',
  input_tokens: 'Input tokens',
  cached_tokens: 'Cached tokens',
  output_tokens: 'Output tokens',
  charged_micros: 'Cost',
  ttft_ms: 'First token, ms',
  duration_ms: 'Duration, ms',
}

export const measureName = (measure: string) => MEASURES[measure as Measure] ?? measure

export const amountOf = (measure: string, amount: number) =>
  measure === 'charged_micros' ? money(amount) : count(amount)
