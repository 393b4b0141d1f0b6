// Azure OpenAI: OpenAI's protocol below paths of its own, by deployment and version, or by its `/openai/v1` form.
// Bodies and answers go through as they are, content filter results included.
import type { CallKind } from '../provider.ts'
import type { Upstream } from '../upstream.ts'
import type { Lease } from './renewed-lease.ts'
import { withError } from './translated-error.ts'

export interface AzureOptions {
  /** What the customer calls what it deployed. */
  deployment: string
  /** Undefined: the form without one. */
  api_version: string | undefined
  secrets: readonly string[]
  /** In the place of a key: tokens of Entra ID. */
  tokens?: Lease | undefined
}

export function azureUpstream(upstream: Upstream, options: AzureOptions): Upstream {
  const { deployment, api_version, secrets, tokens } = options
  const below = api_version === undefined ? (path: string) => `/openai/v1${path}` : classic(deployment, api_version)
  return {
    async send(request, signal) {
      const { path, headers, ...rest } = request
      const token = await tokens?.current()
      const proven = token === undefined ? headers : { ...headers, authorization: `Bearer ${token}` }
      const answer = await upstream.send({ path: below(path), headers: proven, ...rest }, signal)
      const { status } = answer
      if (status < 400) return answer
      if (status === 401 && token !== undefined) tokens?.forget(token)
      const sent = token === undefined ? secrets : [...secrets, token]
      return withError(answer, { status, body: (said) => inForm(said, status), secrets: sent })
    },
    retire: upstream.retire,
    close: upstream.close,
  }
}

/** Responses and models are nobody's deployment. */
const OF_RESOURCE = /^\/(responses|models)\b/

/** Of OpenAI's protocol it has these, and responses by some of its versions. */
export const AZURE_KINDS: readonly CallKind[] = [
  ...(['chat', 'completions', 'embeddings'] as const),
  ...(['images', 'image_edits', 'speech', 'transcriptions'] as const),
]

function classic(deployment: string, api_version: string): (path: string) => string {
  const name = encodeURIComponent(deployment)
  const query = `?api-version=${api_version}`
  return (path) => (OF_RESOURCE.test(path) ? `/openai${path}${query}` : `/openai/deployments/${name}${path}${query}`)
}

/**
 * Where it leaves the type of an error out, clients of this protocol would not know it for one: then it gets a type,
 * and all else stays, what its content filter found included.
 */
function inForm(said: unknown, status: number): object | undefined {
  const { error } = (said ?? {}) as { error?: Record<string, unknown> | null }
  if (typeof error !== 'object' || error === null || typeof error.message !== 'string') return undefined
  if (typeof error.type === 'string') return undefined
  return { ...(said as object), error: { ...error, type: typeOf(status) } }
}

const typeOf = (status: number) =>
  status === 429 ? 'rate_limit_error' : status >= 500 ? 'server_error' : 'invalid_request_error'
