// What an answer says about rates: the fields of the IETF draft on every authenticated one, and on /v1 those that
// OpenAI's clients read. Only the limit with the least left is told; the policy names all that apply.
import type { KeyLimits, Limits } from './policy.ts'
import { WINDOW_S } from './sliding-window.ts'

/** What is left of a limit, and in how many seconds more of it comes back. */
export interface Remaining {
  left: number
  more_in_s: number
}

export type Headers = Record<string, string>

/** The limits that an endpoint of this class meets behind the edge. */
export function policyOf(endpoint_class: string, key: KeyLimits, project: Limits['project']): string {
  const policy = (name: string, quota: number) => `"${name}";q=${quota};w=${WINDOW_S}`
  const requests = policy('key-requests', key.requests_per_minute)
  const tokens = `${policy('key-tokens', key.tokens_per_minute)};qu="tokens"`
  const of_project = policy('project-requests', project.requests_per_minute)
  if (endpoint_class === 'inference') return `${requests}, ${tokens}, ${of_project}`
  if (endpoint_class !== 'admin') return `${requests}, ${of_project}`
  return `${requests}, ${of_project}, ${policy('project-admin', project.admin_per_minute)}`
}

export const rateLimit = (name: string, { left, more_in_s }: Remaining) => `"${name}";r=${left};t=${more_in_s}`

export const openaiRequests = (limit: number, { left, more_in_s }: Remaining): Headers => ({
  'x-ratelimit-limit-requests': String(limit),
  'x-ratelimit-remaining-requests': String(left),
  'x-ratelimit-reset-requests': `${more_in_s}s`,
})

export const openaiTokens = (limit: number, { left, more_in_s }: Remaining): Headers => ({
  'x-ratelimit-limit-tokens': String(limit),
  'x-ratelimit-remaining-tokens': String(left),
  'x-ratelimit-reset-tokens': `${more_in_s}s`,
})
