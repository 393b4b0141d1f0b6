// Where enterprises keep the models of others: Azure OpenAI, AWS Bedrock, Google Vertex. What each is addressed by, and
// in which region that is (0300).
export const PLATFORM_KINDS = ['azure', 'bedrock', 'vertex'] as const
export type PlatformKind = (typeof PLATFORM_KINDS)[number]

export const PROTOCOLS = ['openai', 'anthropic', ...PLATFORM_KINDS] as const
export type Protocol = (typeof PROTOCOLS)[number]

export type Platform =
  /** Without a version it is asked by its `/openai/v1` form. */
  | { kind: 'azure'; api_version?: string }
  | { kind: 'bedrock'; region: string; betas?: readonly string[] }
  | { kind: 'vertex'; region: string; google_project: string; betas?: readonly string[] }

/** What is said of a platform, by an operator or with a credential. */
export interface PlatformTerms {
  region?: string | undefined
  api_version?: string | undefined
  google_project?: string | undefined
  /** Of Claude: which values of `anthropic-beta` it takes; undefined is all of them. */
  betas?: readonly string[] | undefined
}

export interface WrongTerm {
  kind: 'wrong'
  field: keyof PlatformTerms
  must: string
}

/** Which terms mean something to which of them. */
export const TERMS: Readonly<Record<PlatformKind, readonly (keyof PlatformTerms)[]>> = {
  azure: ['api_version'],
  bedrock: ['region', 'betas'],
  vertex: ['region', 'google_project', 'betas'],
}

export const isPlatform = (protocol: string): protocol is PlatformKind =>
  (PLATFORM_KINDS as readonly string[]).includes(protocol)

const AWS_REGION = /^[a-z]{2,8}(-[a-z]{2,16}){1,3}-\d{1,2}$/
const GOOGLE_REGION = /^(global|us|eu|[a-z]{2,16}-[a-z]{2,16}\d{1,2})$/
const GOOGLE_PROJECT = /^[a-z][a-z0-9-]{4,28}[a-z0-9]$/
const API_VERSION = /^\d{4}-\d{2}-\d{2}(-preview)?$/
/** The first that tells what a stream cost. */
const API_VERSION_LEAST = '2024-09-01-preview'

/** Region and project become part of an address, so they are held against their form. */
export function platformOf(kind: PlatformKind, terms: PlatformTerms): Platform | WrongTerm {
  const { region = '', api_version, google_project = '', betas } = terms
  if (kind === 'azure') {
    if (api_version === undefined) return { kind }
    if (!API_VERSION.test(api_version)) return wrong('api_version', 'be like 2024-10-21 or 2025-03-01-preview')
    if (api_version.slice(0, 10) < API_VERSION_LEAST.slice(0, 10))
      return wrong('api_version', `be ${API_VERSION_LEAST} or later: earlier ones do not tell what a stream cost`)
    return { kind, api_version }
  }
  if (kind === 'bedrock') {
    if (!AWS_REGION.test(region)) return wrong('region', 'be a region of AWS, such as us-east-1')
    return { kind, region, ...(betas && { betas }) }
  }
  if (!GOOGLE_REGION.test(region)) return wrong('region', 'be a location of Google Cloud, such as us-east5 or global')
  if (!GOOGLE_PROJECT.test(google_project)) return wrong('google_project', 'be the id of a project of Google Cloud')
  return { kind, region, google_project, ...(betas && { betas }) }
}

const wrong = (field: keyof PlatformTerms, must: string): WrongTerm => ({ kind: 'wrong', field, must })

/** Where everybody reaches it; undefined of Azure, where each customer has an address. */
export function publicAddress(platform: Platform): string | undefined {
  if (platform.kind === 'azure') return undefined
  const { region } = platform
  if (platform.kind === 'bedrock')
    return `https://bedrock-runtime.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`
  if (region === 'global') return 'https://aiplatform.googleapis.com'
  return /-/.test(region)
    ? `https://${region}-aiplatform.googleapis.com`
    : `https://aiplatform.${region}.rep.googleapis.com`
}

const AWS_HOST = /^bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.(?:amazonaws\.com(?:\.cn)?|api\.aws)$/
const GOOGLE_HOST = /^(?:([a-z0-9-]+)-aiplatform|aiplatform(?:\.(us|eu)\.rep)?)\.googleapis\.com$/

/** Which region an address tells of by its name; undefined where it tells none, as a private endpoint does. */
export function regionIn(address: string): string | undefined {
  const host = URL.canParse(address) ? new URL(address).hostname : ''
  const google = GOOGLE_HOST.exec(host)
  return google ? (google[1] ?? google[2] ?? 'global') : AWS_HOST.exec(host)?.[1]
}

/** Of OpenAI's, which Bedrock serves by OpenAI's protocol: openai.gpt-oss-120b-1:0, us.openai.…, and ARNs of them. */
export const isOpenaisAtBedrock = (name: string) => /(^|[./])openai\.(?=gpt)/i.test(name)

/** Models of Anthropic's, by what they are called anywhere: claude-…, us.anthropic.claude-…, claude-…@20250929. */
export const isClaude = (name: string) => /(^|[./:@-])(anthropic|claude)(?![a-z])/i.test(name)
