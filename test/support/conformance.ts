// Whether an answer keeps what the OpenAPI document, the error envelope (§7) and the standing headers (§10.2) promise.
// Every answer that a test gets through test/support/service.ts passes here.
import { Compile } from 'typebox/schema'

interface Operation {
  responses: Record<string, { headers?: object; content?: Record<string, { schema: object }> }>
}

export interface OpenApi {
  paths: Record<string, Record<string, Operation>>
}

export interface Heard {
  status: number
  headers: Readonly<Record<string, unknown>>
  body: unknown
}

const STANDING_HEADERS: Record<string, RegExp> = {
  'x-content-type-options': /^nosniff$/,
  'x-frame-options': /^DENY$/,
  'referrer-policy': /^no-referrer$/,
  'content-security-policy': /frame-ancestors 'none'/,
  'cache-control': /\bno-store\b/,
  'x-request-id': /^req_[0-9A-Za-z]{20}$/, // R80
}

export type Conformance = ReturnType<typeof conformanceWith>

/** Returns a function that lists what is wrong with an answer; an empty list is a good answer. */
export function conformanceWith({ paths }: OpenApi) {
  const patterns = Object.entries(paths).map(([path, operations]) => ({
    pattern: new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
    operations,
  }))
  const checks = new Map<object, { Check(value: unknown): boolean; Errors(value: unknown): unknown }>()

  function againstSchema(schema: object, body: unknown): string[] {
    const check = checks.get(schema) ?? Compile(schema)
    checks.set(schema, check)
    return check.Check(body) ? [] : [`does not match its schema: ${JSON.stringify(check.Errors(body))}`]
  }

  return (method: string, url: string, { status, headers, body }: Heard): string[] => {
    const found = [...headerFindings(headers)]
    const redirects = status > 299 && status < 400 && headers.location !== undefined // only the pages do
    const unchanged = status === 304 // which has no body
    if ((status < 200 || status > 299) && !redirects && !unchanged)
      found.push(...refusalFindings(url, { status, headers, body }, method))
    const path = url.replace(/^https?:\/\/[^/]+/, '').replace(/\?.*$/, '')
    const operations = patterns.find(({ pattern }) => pattern.test(path))?.operations
    const operation = operations?.[method.toLowerCase()]
    if (!operation) return found
    const declared = operation.responses[status] ?? operation.responses[`${String(status)[0]}XX`]
    if (!declared) return [...found, `${status} is not documented`]
    found.push(...undeclared(headers, declared.headers))
    const [type = ''] = String(headers['content-type']).split(';')
    const content = declared.content?.[type] ?? declared.content?.['*/*']
    if (declared.content && !content) return [...found, `${type} is not documented`]
    const schema = content?.schema
    return schema ? [...found, ...againstSchema(schema, body)] : found
  }
}

function headerFindings(headers: Heard['headers']): string[] {
  return Object.entries(STANDING_HEADERS).flatMap(([name, value]) =>
    value.test(String(headers[name])) ? [] : [`${name} is ${headers[name]}`],
  )
}

const TOLD = /^(agent-.*|x-request-id|ratelimit.*|x-ratelimit-.*|retry-after|x-should-retry|www-authenticate)$/

/** §10.2: what a header says can be read up in the document. */
function undeclared(headers: Heard['headers'], declared: object = {}): string[] {
  const names = Object.keys(declared).map((name) => name.toLowerCase())
  const told = Object.keys(headers).filter((name) => TOLD.test(name) && !names.includes(name))
  return told.map((name) => `${name} is not documented`)
}

function refusalFindings(url: string, { headers, body }: Heard, method: string): string[] {
  if (method === 'HEAD' || !/^(https?:\/\/[^/]+)?\/anthropic\//.test(url))
    return envelopeFindings(headers, body, method)
  const { type, error, request_id } = (body ?? {}) as Record<string, Record<string, unknown>>
  const is_shaped =
    (type as unknown) === 'error' && typeof error?.type === 'string' && typeof error.message === 'string'
  return is_shaped && (request_id as unknown) === headers['x-request-id'] && headers['request-id'] === request_id
    ? []
    : [`not an error of Messages: ${JSON.stringify(body)}`]
}

/** {error: {message, type, code?}} and nothing else (§7). An answer to HEAD has no body to look at. */
export function envelopeFindings(headers: Heard['headers'], body: unknown, method = 'GET'): string[] {
  if (method === 'HEAD') return []
  if (!/^application\/json/.test(String(headers['content-type']))) return ['an error that is not JSON']
  const { error, ...beside } = (body ?? {}) as { error?: Record<string, unknown> }
  const { message, type, code, ...more } = error ?? {}
  const good =
    typeof message === 'string' &&
    message !== '' &&
    typeof type === 'string' &&
    /^(string|undefined)$/.test(typeof code)
  return good && Object.keys({ ...beside, ...more }).length === 0 ? [] : [`not the envelope: ${JSON.stringify(body)}`]
}
