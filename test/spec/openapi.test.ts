// The document that GET /openapi.json answers is the routes' own: nothing is missing from it, nothing is only in it.
// That answers keep to it is checked with every request that any spec test sends: see test/support/service.ts.
import { expect, test } from 'vitest'
import { conformanceWith } from '../support/conformance.ts'
import { walkOf } from '../support/routes.ts'
import { withService } from '../support/service.ts'

interface Operation {
  summary?: string
  tags?: string[]
  security?: unknown[]
  parameters?: { in: string; name: string; required?: boolean }[]
  requestBody?: object
  responses: Record<string, { headers: object; content: object }>
}

interface Described {
  properties?: object
  additionalProperties?: unknown
}

const HIDDEN = /^\/(openapi\.json|metrics|docs(\/.*)?|console(\/.*)?)?$/ // machinery and pages, not the API

withService((service) => {
  const document = async () =>
    (await service().as().get('/openapi.json')).body as {
      openapi: string
      components: Record<string, Record<string, object>>
      paths: Record<string, Record<string, Operation>>
    }
  // A wildcard stands for an id with slashes in it.
  const named = (url: string) => url.replace(/:(\w+)/g, '{$1}').replace(/\*$/, '{id}')
  const registered = () =>
    walkOf(service().routes).filter(({ method, route }) => method !== 'HEAD' && !HIDDEN.test(route))

  test('OpenAPI 3.1, and every registered route is in it', async () => {
    const { openapi, paths } = await document()
    expect(openapi).toBe('3.1.0')
    const documented = Object.entries(paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(documented.sort()).toEqual(
      registered()
        .map(({ method, route }) => `${method} ${named(route)}`)
        .sort(),
    )
  })

  test('OpenAPI says what each route is for, what it takes and what it answers', async () => {
    const { paths } = await document()
    for (const { method, route, isPublic } of registered()) {
      const operation = paths[named(route)]?.[method.toLowerCase()] as Operation
      const about = `${method} ${route}`
      expect(operation.summary, about).toBeTruthy()
      expect(operation.tags, about).toHaveLength(1)
      const told = Object.keys(operation.responses).filter((status) => status !== '304') // of what has an ETag
      const well = route.startsWith('/auth/oidc/') ? '302' : '200' // browsers follow these
      expect(told, about).toEqual([well, '4XX', '5XX'])
      expect(operation.security, about).toEqual(isPublic ? [] : undefined)
      const inPath = (operation.parameters ?? []).filter((one) => one.in === 'path').map((one) => `{${one.name}}`)
      expect(inPath, about).toEqual(named(route).match(/\{\w+\}/g) ?? [])
      const keyed = (operation.parameters ?? []).some(
        (one) => one.in === 'header' && one.name === 'Agent-Idempotency-Key',
      )
      expect(keyed, about).toBe(method === 'POST' && !isPublic)
    }
  })

  test('§10.1 a generation says which headers it takes, and §10.2 which its answers have', async () => {
    const { components, paths } = await document()
    const refs = (kind: string, ...names: string[]) => names.map((name) => ({ $ref: `#/components/${kind}/${name}` }))
    const chat = paths['/v1/chat/completions']?.post as Operation
    expect(chat.parameters).toEqual(expect.arrayContaining(refs('parameters', 'Agent-Hints', 'Agent-Hints-Ref')))
    const headersAt = (status: string) => Object.values(chat.responses[status]?.headers ?? {})
    const everywhere = refs('headers', 'x-request-id', 'RateLimit', 'agent-idempotent-replay', 'Agent-Trace-Id')
    for (const status of ['200', '4XX', '5XX']) expect(headersAt(status)).toEqual(expect.arrayContaining(everywhere))
    expect(headersAt('200')).toEqual(expect.arrayContaining(refs('headers', 'Agent-Charged-Micros', 'Agent-Region')))
    expect(headersAt('5XX')).toEqual(expect.arrayContaining(refs('headers', 'Retry-After', 'x-should-retry')))
    const used = [...JSON.stringify(paths).matchAll(/#\/components\/(\w+)\/([\w-]+)"/g)]
    expect(used.filter(([, kind = '', name = '']) => !components[kind]?.[name])).toEqual([])
  })

  test('§4.11 only what can be streamed is documented as a stream', async () => {
    const streamed = Object.entries((await document()).paths)
      .filter(([, { post }]) => post?.responses['200'] && 'text/event-stream' in post.responses['200'].content)
      .map(([path]) => path)
    expect(streamed.sort()).toEqual([
      '/anthropic/v1/messages',
      '/openai/deployments/{deployment}/chat/completions',
      '/openai/deployments/{deployment}/completions',
      '/openai/deployments/{deployment}/responses',
      '/openai/responses',
      '/openai/v1/chat/completions',
      '/openai/v1/completions',
      '/openai/v1/responses',
      '/v1/audio/speech',
      '/v1/audio/transcriptions',
      '/v1/chat/completions',
      '/v1/completions',
      '/v1/images/edits',
      '/v1/images/generations',
      '/v1/responses',
      '/v2/responses',
    ])
  })

  test('§4.11 the answers of generations are described, and those of the placeholder are as described', async () => {
    const { paths } = await document()
    const { post } = await service().newProject()
    const model = 'gpt-4o-mini'
    for (const [path, body, fields] of [
      ['/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }] }, ['id', 'choices', 'usage']],
      ['/v1/completions', { prompt: 'hi' }, ['id', 'choices', 'usage']],
      ['/v1/embeddings', { input: 'hi' }, ['data', 'model']],
      ['/v1/responses', { input: 'hi' }, ['id', 'output', 'status']],
      ['/v2/responses', { input: 'hi' }, ['id', 'output', 'routing', 'cost']],
    ] as const) {
      const answered = paths[path]?.post?.responses['200']?.content as Record<string, { schema: Described }> | undefined
      const { properties, additionalProperties } = answered?.['application/json']?.schema ?? {}
      expect(Object.keys(properties ?? {}), path).toEqual(expect.arrayContaining([...fields]))
      expect(additionalProperties, path).toBe(true)
      expect((await post(path, { model, ...body })).status, path).toBe(200) // held against the document on its way
    }
  })

  test('OpenAPI planted: answers that break the document are caught', async () => {
    const conforms = conformanceWith((await document()) as never)
    const { get } = await service().newProject()
    const { status, headers, body } = await get('/v2/api-keys')
    const findings = (change: object) => conforms('GET', '/v2/api-keys', { status, headers, body, ...change }).join()
    expect(findings({})).toBe('')
    expect(findings({ body: { ...body, has_more: undefined } })).toContain('does not match its schema')
    expect(findings({ body: { ...body, data: [{ ...body.data[0], created_at: 'today' }] } })).toContain('date-time')
    expect(findings({ status: 201 })).toContain('201 is not documented')
    expect(findings({ status: 404, body: { message: 'no' } })).toContain('not the envelope')
    expect(findings({ status: 404, body: { error: { message: 'a', type: 'b', extra: 1 } } })).toContain(
      'not the envelope',
    )
    expect(findings({ headers: { ...headers, 'x-frame-options': 'ALLOW' } })).toContain('x-frame-options')
    expect(findings({ headers: { ...headers, 'agent-region': 'eu' } })).toContain('agent-region is not documented')
  })

  test('GET /docs is a page that loads nothing from elsewhere', async () => {
    const { status, headers, body } = await service().as().get('/docs/')
    expect([status, headers['content-type']]).toEqual([200, expect.stringContaining('text/html')])
    expect(body).not.toMatch(/(src|href)="(https?:)?\/\//)
    expect(headers['content-security-policy']).toMatch(/default-src 'none'.*script-src 'self'/)
  })
})
