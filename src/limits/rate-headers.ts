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

export const policyOf = (key: KeyLimits, project: Limits['project'], counts: { tokens: boolean; admin: boolean }) =>
  [
    `"key-requests";q=${key.requests_per_minute};w=${WINDOW_S}`,
    ...(counts.tokens ? [`"key-tokens";q=${key.tokens_per_minute};w=${WINDOW_S};qu="tokens"`] : []),
    `"project-requests";q=${project.requests_per_minute};w=${WINDOW_S}`,
    ...(counts.admin ? [`"project-admin";q=${project.admin_per_minute};w=${WINDOW_S}`] : []),
  ].join(', ')

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
