// What was observed of a bundle, target by target: when it was last sent there, and how much of that prompt the target
// said it had cached. Nothing is claimed: a cache may have dropped it since.
import { type Static, Type } from 'typebox'
import { orNull, time } from '../core/shapes.ts'

/** How many calls are looked at. */
export const OBSERVED_MAX = 1_000

const Target = Type.Object({
  target: Type.String(),
  provider: Type.String(),
  model: Type.String(),
  profile: Type.String(),
  cluster_id: orNull(Type.String()),
  calls: Type.Integer({ description: `Among the last ${OBSERVED_MAX} with this bundle.` }),
  last_used_at: time(),
  last_input_tokens: Type.Integer(),
  last_cached_tokens: Type.Integer(),
  last_written_tokens: Type.Integer(),
  last_cached_share: Type.Number({ description: 'Of the tokens of the last prompt, how many were cached: 0 to 1.' }),
  last_ttft_ms: orNull(Type.Integer()),
})

export const BundleWarmth = Type.Object(
  {
    object: Type.Literal('bundle.warmth'),
    bundle_id: Type.String(),
    targets: Type.Array(Target, { description: 'Those used last first. What was observed, and nothing else.' }),
  },
  { title: 'BundleWarmth' },
)
export type BundleWarmth = Static<typeof BundleWarmth>

export interface Observed {
  created_at: string
  provider: string
  resolved_model: string
  profile: string
  cluster_id: string | null
  input_tokens: number
  cached_tokens: number
  written_tokens: number
  ttft_ms: number | null
  attempts: string
}

/** `calls` are newest first: of each target the first is the last. */
export function warmthFrom(bundle_id: string, calls: readonly Observed[]) {
  const targets = new Map<string, ReturnType<typeof seen>>()
  for (const call of calls) {
    const target = targetOf(call)
    const name = `${target} ${call.resolved_model}`
    const known = targets.get(name)
    if (known) known.calls++
    else targets.set(name, seen(target, call))
  }
  return { object: 'bundle.warmth' as const, bundle_id, targets: [...targets.values()] }
}

const seen = (target: string, call: Observed) => ({
  target,
  provider: call.provider,
  model: call.resolved_model,
  profile: call.profile,
  cluster_id: call.cluster_id,
  calls: 1,
  last_used_at: call.created_at,
  last_input_tokens: call.input_tokens,
  last_cached_tokens: call.cached_tokens,
  last_written_tokens: call.written_tokens,
  last_cached_share: call.input_tokens > 0 ? Math.min(1, call.cached_tokens / call.input_tokens) : 0,
  last_ttft_ms: call.ttft_ms,
})

/** The attempt that answered is the last. */
function targetOf({ attempts, provider }: Observed): string {
  const tried = JSON.parse(attempts) as { target?: string }[]
  return tried.at(-1)?.target ?? provider
}
