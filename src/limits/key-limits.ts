// §8.1: the limits of one key, where they are not those of every key. They stand beside the api_key, whose shape is
// the contract's.
import { type Static, Type } from 'typebox'
import type { OwnLimits } from '../core/caller.ts'
import { orNull } from '../core/shapes.ts'
import { KeyModelRates } from './model-rates.ts'
import { type KeyLimits, keyLimits, LIMIT_MAX, MaxParallelRequests } from './policy.ts'

const Limit = () => Type.Integer({ minimum: 1, maximum: LIMIT_MAX })
const each = <S>(shape: () => S) => ({
  requests_per_minute: shape(),
  tokens_per_minute: shape(),
  concurrent_streams: shape(),
})

export const ApiKeyLimits = Type.Object(
  {
    object: Type.Literal('api_key.limits'),
    key_id: Type.String(),
    ...each(() => orNull(Limit())),
    max_parallel_requests: orNull(MaxParallelRequests),
    models: orNull(KeyModelRates),
    effective: Type.Object(
      { ...each(Limit), max_parallel_requests: orNull(MaxParallelRequests) },
      { description: 'What holds for the key: its own limits, and where they are null, those of every key.' },
    ),
  },
  { title: 'ApiKeyLimits' },
)
export type ApiKeyLimits = Static<typeof ApiKeyLimits>

export const NewKeyLimits = Type.Object(
  {
    ...each(() => Type.Optional(orNull(Limit()))),
    max_parallel_requests: Type.Optional(orNull(MaxParallelRequests)),
    models: Type.Optional(orNull(KeyModelRates)),
  },
  { title: 'NewApiKeyLimits' },
)
export type NewKeyLimits = Static<typeof NewKeyLimits>

export function describeLimits(key_id: string, own: OwnLimits, common: KeyLimits): ApiKeyLimits {
  const { requests_per_minute, tokens_per_minute, concurrent_streams, max_parallel_requests, models } = own
  return {
    object: 'api_key.limits',
    key_id,
    requests_per_minute,
    tokens_per_minute,
    concurrent_streams,
    max_parallel_requests,
    models: models ? [...models] : null,
    effective: { max_parallel_requests, ...keyLimits(common, own) },
  }
}
