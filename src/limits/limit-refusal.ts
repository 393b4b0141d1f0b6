// §7, §8.1: how a limit says no. The message names the layer and the limit, as the operator's file does; Retry-After is
// in whole seconds, and true.
import { Refusal } from '../core/refusal.ts'
import { rateLimit } from './rate-headers.ts'
import { ALL_GONE_S } from './sliding-window.ts'

export interface ReachedLimit {
  layer: 'edge' | 'key' | 'project'
  name: string
  limit: number
  amount: number
  model?: string
}

export interface Reached {
  left: number
  /** Undefined where no waiting helps. */
  wait_s: number | undefined
}

export function limitRefusal(reached: ReachedLimit, { left, wait_s }: Reached): Refusal {
  const { layer, name, limit, amount, model } = reached
  const limit_words = `the ${layer} layer's limit ${name} (${limit})${model === undefined ? '' : ` of '${model}'`}`
  if (wait_s === undefined) return tooLarge(limit_words, reached)
  const headers = { 'retry-after': String(wait_s) }
  const again = `Retry after ${wait_s} s.`
  if (name === 'concurrent_streams')
    return new Refusal('rate_limited', `All streams of ${limit_words} are open. Let one end first. ${again}`, {
      headers,
      by: layer,
    })
  if (name === 'max_parallel_requests')
    return new Refusal('rate_limited', `All places of ${limit_words} are taken. Let a request end first. ${again}`, {
      headers,
      by: layer,
    })
  const tokens = name.endsWith('tokens_per_minute')
  const detail = tokens ? ` This request counts as ${amount} until it has ended, and ${left} are left.` : ''
  return new Refusal('rate_limited', `This would exceed ${limit_words}.${detail} ${again}`, {
    headers: { ...headers, ratelimit: rateLimit(policyName(reached), { left, more_in_s: wait_s }) },
    by: layer,
  })
}

/** T-69. Once all that counts now has gone, nothing else stands in the way of a smaller request. */
function tooLarge(limit_words: string, { amount, layer: by }: ReachedLimit): Refusal {
  const why = `This request counts as ${amount} tokens, more than ${limit_words} ever allows.`
  const how = 'Waiting does not help: send fewer tokens, or allow fewer in the answer.'
  const headers = { 'retry-after': String(ALL_GONE_S), 'x-should-retry': 'false' }
  return new Refusal('rate_limited', `${why} ${how}`, { headers, by })
}

/** As RateLimit-Policy calls it: `key-requests`. */
export const policyName = ({ layer, name }: Pick<ReachedLimit, 'layer' | 'name'>) =>
  `${layer}-${name.replace('_per_minute', '')}`
