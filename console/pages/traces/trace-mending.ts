// What mends a request that was refused or failed: where in the console it can be changed, or what to look at next.
import type { RefusalKind, Trace } from '../../api/insight-calls.ts'

export interface Mending {
  to: string
  label: string
}

type Refused = Pick<Trace, 'key_id' | 'target' | 'usage'> & { message: string }

const TARGET = /^(provider|cluster|credential):(.*)$/

/** The page of whom it was meant for, and everything else that failed there. */
function atTarget({ target, usage }: Refused): Mending[] {
  const [, kind, id = ''] = TARGET.exec(target ?? '') ?? []
  const credential = usage?.credential_id ?? (kind === 'credential' ? id : null)
  const others = (by: string, value: string) =>
    `/requests?${new URLSearchParams({ outcome: 'failed,upstream_failed,deadline_exceeded,refused', [by]: value })}`
  if (kind === 'cluster')
    return [
      { to: `/clusters/${id}`, label: 'Look at the cluster' },
      { to: others('cluster_id', id), label: 'What else failed there' },
    ]
  return [
    ...(credential ? [{ to: '/settings/credentials', label: 'Check the credential' }] : []),
    ...(kind === 'provider' ? [{ to: others('provider', id), label: `What else failed at ${id}` }] : []),
  ]
}

const ofKey = (action: string, label: string) => (refused: Refused) => [
  { to: `/keys/${refused.key_id}?do=${encodeURIComponent(action)}`, label },
]

const BY_LAYER: Record<RefusalKind, (refused: Refused) => Mending[]> = {
  scope: ({ key_id }) => [{ to: `/keys/${key_id}`, label: 'Look at what the key may do' }],
  key_limit: ofKey('Rate limits', 'Raise the key’s rate limits'),
  project_limit: () => [{ to: '/settings/gateway', label: 'Look at the project’s rate limits' }],
  idempotency: () => [],
  validation: () => [{ to: '/playground', label: 'Try it in the playground' }],
  not_found: ({ key_id }) => [
    { to: '/routing', label: 'Look at aliases and models' },
    { to: `/keys/${key_id}`, label: 'Look at the models the key may use' },
  ],
  budget(refused) {
    if (/one of its tags/.test(refused.message)) return [{ to: '/settings/tags', label: 'Raise the tag’s budget' }]
    if (/project/i.test(refused.message)) return [{ to: '/settings', label: 'Raise the project’s cap' }]
    return ofKey('Spending limit', 'Raise the key’s spending limit')(refused)
  },
  capacity: (refused) => [...atTarget(refused), { to: '/clusters', label: 'Look at all clusters' }],
  deadline: atTarget,
  upstream: atTarget,
  unavailable: (refused) => [...atTarget(refused), { to: '/routing', label: 'Explain the route' }],
  fault: () => [],
}

export function mendingsOf(trace: Trace): Mending[] {
  const { refusal, key_id, target, usage } = trace
  if (refusal === null) return []
  return BY_LAYER[refusal.layer]({ key_id, target, usage, message: refusal.message })
}
