// Azure, Bedrock and Vertex as LiteLLM sets them up, in the fields that switchyard.yaml has for them.
import type { Fields, Report } from './foreign-file.ts'
import type { PlannedProvider } from './import-plan.ts'
import type { KnownUpstream } from './known-upstreams.ts'

type Terms = Pick<
  PlannedProvider,
  'region' | 'api_version' | 'access_key_id' | 'secret_access_key' | 'session_token' | 'google_project'
>

const AZURE_VERSION_LEAST = '2024-09-01'

/** Undefined of what is no platform; a text where something is missing. */
export function platformTerms({ protocol }: KnownUpstream, params: Fields, report: Report): Terms | string | undefined {
  if (protocol === 'azure') return azureTerms(params, report)
  if (protocol === 'bedrock') return bedrockTerms(params)
  return protocol === 'vertex' ? vertexTerms(params, report) : undefined
}

function azureTerms(params: Fields, report: Report): Terms {
  const api_version = variable(params.text('api_version'))
  if (api_version === undefined) return {}
  if (/^\d{4}-\d\d-\d\d/.test(api_version) && api_version >= AZURE_VERSION_LEAST) return { api_version }
  report.changed(params.at('api_version'), 'is not kept: the /openai/v1 form is used, which has no versions')
  return {}
}

function bedrockTerms(params: Fields): Terms | string {
  const region = params.text('aws_region_name')
  if (region === undefined || region.startsWith('os.environ/')) return "it needs 'aws_region_name', written out"
  const session_token = variable(params.text('aws_session_token'))
  return {
    region,
    access_key_id: variable(params.text('aws_access_key_id')) ?? spelled('AWS_ACCESS_KEY_ID'),
    secret_access_key: variable(params.text('aws_secret_access_key')) ?? spelled('AWS_SECRET_ACCESS_KEY'),
    ...(session_token !== undefined && { session_token }),
  }
}

function vertexTerms(params: Fields, report: Report): Terms | string {
  const [region, google_project] = [params.text('vertex_location'), params.text('vertex_project')]
  if ([region, google_project].some((one) => one === undefined || one.startsWith('os.environ/')))
    return "it needs 'vertex_location' and 'vertex_project', written out"
  if (params.any('vertex_credentials') !== undefined)
    report.changed(params.at('vertex_credentials'), 'is not kept: name its file in GOOGLE_APPLICATION_CREDENTIALS')
  return { ...(region && { region }), ...(google_project && { google_project }) }
}

const spelled = (name: string) => `\${${name}}`

function variable(text: string | undefined): string | undefined {
  const [, name] = /^os\.environ\/([A-Za-z_][A-Za-z0-9_]*)$/.exec(text ?? '') ?? []
  return name === undefined ? text : spelled(name)
}

/** LiteLLM says how a model of Bedrock's is asked, and where, before its name. */
export const platformModel = (called: string, model: string) =>
  called === 'bedrock' ? model.replace(/^((converse|invoke|[a-z]{2}-[a-z]+-\d)\/)+/, '') : model
