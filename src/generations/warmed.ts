// What became of warming a bundle, target by target.
import { type Static, Type } from 'typebox'
import { orNull } from '../core/shapes.ts'

export const BundleWarmed = Type.Object(
  {
    object: Type.Literal('bundle.warmed'),
    bundle_id: Type.String(),
    model: Type.String(),
    charged_micros: Type.Integer(),
    targets: Type.Array(
      Type.Object({
        target: Type.String(),
        provider: Type.String(),
        model: Type.String(),
        cluster_id: orNull(Type.String()),
        status: Type.Enum(['warmed', 'skipped', 'failed'], {
          description: '`skipped`: what it could cost was more than was left of `max_cost_usd`.',
        }),
        reason: orNull(Type.String()),
        trace_id: orNull(Type.String()),
        ttft_ms: orNull(Type.Integer()),
        input_tokens: Type.Integer(),
        cached_tokens: Type.Integer(),
        written_tokens: Type.Integer(),
        charged_micros: Type.Integer(),
      }),
    ),
  },
  { title: 'BundleWarmed' },
)
export type BundleWarmed = Static<typeof BundleWarmed>
