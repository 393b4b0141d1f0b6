// GET /openapi.json (3.1, from the routes' own schemas) and GET /docs, a reference page that works offline.
import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import type { TSchema } from 'typebox'
import { ErrorEnvelope } from '../core/shapes.ts'
import { MessagesError, speaksMessages } from './messages-errors.ts'
import { serveReferenceFiles } from './reference-files.ts'
import { withHeaders } from './reference-headers.ts'

const DESCRIPTION = `Keys with hard spending limits, your own GPU clusters, cache planning, and retries that are safe.

Send your key as \`Authorization: Bearer svc_live_…\`. Any \`POST\` may carry an \`Agent-Idempotency-Key\`: repeat it
after a lost connection and you get the first answer again, byte for byte, for 24 hours. Every answer that is not
2xx has the same shape: \`{"error": {"message", "type", "code"?}}\`; below \`/anthropic\`, that of Anthropic.`

/** What people come for first stands first. */
const TAGS = [
  'Inference (OpenAI-compatible)',
  'Messages (Anthropic-compatible)',
  'Azure OpenAI (compatible)',
  'Responses',
  'API keys',
  'BYOC clusters',
  'Cache planning',
  'Agent hints',
  'Aliases',
  'Provider credentials',
  'Subscriptions',
  'Sessions',
  'Usage',
  'Routing',
  'Project',
]

export async function serveReference(app: FastifyInstance, version: string): Promise<void> {
  const generating = new Set<string>()
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Switchyard', version, description: DESCRIPTION, license: { name: 'MIT', identifier: 'MIT' } },
      components: {
        securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key, svc_live_…' } },
      },
      security: [{ key: [] }],
      tags: TAGS.map((name) => ({ name })),
    },
    transform: ({ schema, url, route }) => {
      if (generates(route)) generating.add(url.replace(/:(\w+)/g, '{$1}')) // as the document writes it
      return withNamedRest(withCommonParts(schema, route, speaksMessages(url) ? MessagesError : ErrorEnvelope), url)
    },
    transformObject: (document) => ('openapiObject' in document ? withHeaders(document.openapiObject, generating) : {}),
  })

  serveReferenceFiles(app)
}

type Declared = Parameters<NonNullable<Extract<Parameters<typeof swagger>[1], { transform?: unknown }>['transform']>>[0]

const IdempotencyHeader = {
  type: 'object',
  properties: {
    'Agent-Idempotency-Key': {
      type: 'string',
      maxLength: 255,
      description: 'Makes a repeat of this request safe: the first answer is sent again, nothing is done twice.',
    },
  },
}

/** A path's rest has a name in a document, where a wildcard would mean nothing. */
function withNamedRest(schema: Declared['schema'], url: string) {
  const rest = (schema?.params as { properties?: Record<string, unknown> } | undefined)?.properties?.['*']
  if (!url.endsWith('/*') || !rest) return { schema, url }
  const params = { type: 'object', properties: { id: rest }, required: ['id'] }
  return { schema: { ...schema, params }, url: url.replace(/\*$/, ':id') }
}

const generates = ({ config }: Declared['route']) => config?.class === 'inference' // R51

/** A generation's answer is its upstream's own, which this document does not repeat. */
function fromUpstream({ body }: NonNullable<Declared['schema']>) {
  const whole = { 'application/json': { schema: { type: 'object' } } }
  if (!('stream' in ((body as { properties?: object }).properties ?? {})))
    return { description: 'As the API of this protocol describes it.', content: whole }
  return {
    description: 'As the API of this protocol describes it; as server-sent events where `stream` is true.',
    content: { ...whole, 'text/event-stream': { schema: { type: 'string' } } },
  }
}

function withCommonParts(schema: Declared['schema'], route: Declared['route'], refusal: TSchema): Declared['schema'] {
  if (!schema || schema.hide) return schema
  const keyed = route.method === 'POST' && !route.config?.public
  return {
    ...schema,
    ...(keyed && { headers: IdempotencyHeader }),
    response: {
      ...(generates(route) && { 200: fromUpstream(schema) }),
      ...(schema.response as object),
      '4XX': refusal,
      '5XX': refusal,
    },
  }
}
