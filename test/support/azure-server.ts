// How Azure OpenAI answers, for the programmable upstream: by its key, its paths and its versions, and refusing what it
// refuses, in its words.
import type { Behaviour, Manner, Recorded } from './upstream.ts'

export interface AzureResource {
  api_key: string
  deployments: readonly string[]
  /** Undefined: it is asked by the form that has none. */
  api_version?: string
}

/** `behaviour` is what it does with a call that is in order. */
export function azureResource(resource: AzureResource, behaviour: Behaviour = {}): Manner {
  return (request) => refusalOf(resource, request) ?? behaviour
}

const refused = (status: number, code: string, message: string): Behaviour => ({
  status,
  body: { error: { code, message } },
})

function refusalOf({ api_key, deployments, api_version }: AzureResource, request: Recorded): Behaviour | undefined {
  const { path, headers, body } = request
  if (headers['api-key'] !== api_key || headers.authorization !== undefined)
    return refused(401, '401', 'Access denied due to invalid subscription key or wrong API endpoint.')
  const [below = '', query = ''] = path.split('?')
  if (new URLSearchParams(query).get('api-version') !== (api_version ?? null))
    return refused(404, '404', 'Resource not found')
  const classic = /^\/openai\/deployments\/([^/]+)\/(chat\/completions|completions|embeddings)$/.exec(below)
  const form = api_version === undefined ? /^\/openai\/v1\/[a-z/]+$/ : /^\/openai\/(responses|models)$/
  if (!(classic && api_version) && !form.test(below)) return refused(404, '404', 'Resource not found')
  const deployment = classic ? decodeURIComponent(classic[1] ?? '') : body?.model
  if (deployment !== undefined && !deployments.includes(deployment))
    return refused(404, 'DeploymentNotFound', 'The API deployment for this resource does not exist.')
  return undefined
}

/** As its content filter refuses a prompt. */
export const FILTERED = {
  error: {
    message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
    type: null,
    param: 'prompt',
    code: 'content_filter',
    status: 400,
    innererror: {
      code: 'ResponsibleAIPolicyViolation',
      content_filter_result: { violence: { filtered: true, severity: 'high' } },
    },
  },
}

const SAFE = { hate: { filtered: false, severity: 'safe' } }

/** The first event of its streams has no choice in it, and what the filter found in the prompt. */
export const FILTER_CHUNK = {
  id: '',
  object: '',
  created: 0,
  model: '',
  choices: [],
  prompt_filter_results: [{ prompt_index: 0, content_filter_results: SAFE }],
}
