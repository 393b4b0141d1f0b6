// The layers that turn requests away (§7, §8.1), in the order in which a request meets them, each in a sentence.
import type { RefusalKind } from '../../api/insight-calls.ts'
import type { SeriesColor } from '../../parts/series-chart.tsx'

export type LayerGroup = 'request' | 'limits' | 'money' | 'running'

interface Layer {
  label: string
  group: LayerGroup
  sentence: string
}

export const LAYERS: Record<RefusalKind, Layer> = {
  scope: { label: 'Scope', group: 'request', sentence: 'The key may not do this.' },
  key_limit: { label: 'Key rate limit', group: 'limits', sentence: 'One key sent more than its rate limits allow.' },
  project_limit: {
    label: 'Project rate limit',
    group: 'limits',
    sentence: 'All keys together sent more than the project may.',
  },
  idempotency: {
    label: 'Idempotency',
    group: 'request',
    sentence: 'The same idempotency key was under way, or came with another body.',
  },
  validation: { label: 'Validation', group: 'request', sentence: 'Something in the request was not as it must be.' },
  not_found: { label: 'Not found', group: 'request', sentence: 'The model, or what else was named, does not exist.' },
  budget: {
    label: 'Budget',
    group: 'money',
    sentence: 'It might have cost more than the key or the project has left.',
  },
  capacity: { label: 'Capacity', group: 'limits', sentence: 'All slots were taken, and the queue was full.' },
  deadline: { label: 'Deadline', group: 'running', sentence: 'Its deadline passed before the first byte.' },
  upstream: { label: 'Upstream', group: 'running', sentence: 'No target gave an answer.' },
  unavailable: { label: 'Unavailable', group: 'running', sentence: 'The gateway was not able to serve it.' },
  fault: { label: 'Fault', group: 'running', sentence: 'Something broke inside the gateway.' },
}

export const LAYER_GROUPS: readonly { id: LayerGroup; label: string; color: SeriesColor }[] = [
  { id: 'request', label: 'the request itself', color: 'two' },
  { id: 'limits', label: 'rates and capacity', color: 'three' },
  { id: 'money', label: 'budgets', color: 'four' },
  { id: 'running', label: 'while running', color: 'bad' },
]

export const KINDS = Object.keys(LAYERS) as RefusalKind[]

/** How a generation can end other than well, and what that means. */
export const ENDINGS: Readonly<Record<string, { label: string; sentence: string }>> = {
  failed: { label: 'Failed', sentence: 'No target gave any content; nothing was charged.' },
  upstream_failed: {
    label: 'Broken off',
    sentence: 'The answer broke off in the middle; charged only at a limit of ours.',
  },
  deadline_exceeded: {
    label: 'Too late',
    sentence: 'Its time was over; charged only in mid-answer, beyond the waiver.',
  },
  client_left: { label: 'Client left', sentence: 'The client hung up; what was produced until then was charged.' },
}

export const outcomeLabel = (outcome: string) =>
  outcome === 'completed' ? 'Completed' : outcome === 'refused' ? 'Refused' : (ENDINGS[outcome]?.label ?? outcome)

/** Every outcome that somebody has to explain, as the list of requests takes it. */
export const WRONG = 'failed,upstream_failed,deadline_exceeded,refused'
