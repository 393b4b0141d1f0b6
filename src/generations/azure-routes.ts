// Azure's paths for the same calls (0301): its clients come in unchanged, with `api-key` and a deployment in the path,
// which is the model or the alias here. What the body says of a model is what Azure makes of it there: nothing.
import type { FastifyInstance, FastifyRequest, preValidationHookHandler } from 'fastify'
import { Type } from 'typebox'
import type { JsonBody } from '../core/json-bytes.ts'
import { spliceFields } from '../core/json-splice.ts'
import { listOf } from '../core/shapes.ts'
import type { Routes } from '../http/routes.ts'
import type { CallKind } from '../providers/provider.ts'
import { Model, sendModels } from '../routing/model-routes.ts'
import type { ModelsFor } from '../routing/nameable-models.ts'
import { GENERATION_MAX_BYTES, takeBodiesAsBytes } from './byte-bodies.ts'
import {
  CHUNKS,
  ChatCompletion,
  Completion,
  Embeddings,
  RESPONSE_EVENTS,
  Response,
  whole,
  wholeOrStreamed,
} from './generation-shapes.ts'
import type { Generations } from './running.ts'

const tags = ['Azure OpenAI (compatible)']
const generating = { scope: 'inference', class: 'inference', idempotency: 'own', api_key: true } as const
const reading = { scope: 'read', class: 'read', api_key: true } as const

const Params = Type.Object({ deployment: Type.String({ description: 'A model or an alias.' }) })
const Versioned = Type.Object({
  'api-version': Type.Optional(Type.String({ description: 'Taken, whatever it is; upstreams have their own.' })),
})
const AnyBody = Type.Object({}, { title: 'AzureRequest', additionalProperties: true })

interface Kind {
  kind: CallKind
  path: string
  summary: string
  answer: object
}

const KINDS: readonly Kind[] = [
  {
    kind: 'chat',
    path: '/chat/completions',
    summary: 'Create a chat completion',
    answer: wholeOrStreamed(ChatCompletion, CHUNKS),
  },
  {
    kind: 'completions',
    path: '/completions',
    summary: 'Create a completion',
    answer: wholeOrStreamed(Completion, CHUNKS),
  },
  { kind: 'embeddings', path: '/embeddings', summary: 'Create embeddings', answer: whole(Embeddings) },
  {
    kind: 'responses',
    path: '/responses',
    summary: 'Create a response',
    answer: wholeOrStreamed(Response, RESPONSE_EVENTS),
  },
]

interface Needs {
  path: Generations
  modelsFor: ModelsFor
}

export const azureRoutes: Routes<Needs> = async (app, { path, modelsFor }) => {
  await app.register(async (generate) => {
    takeBodiesAsBytes(generate)
    for (const one of KINDS) {
      take(generate, { url: `/openai/deployments/:deployment${one.path}`, by_deployment: true, ...one }, path)
      take(generate, { url: `/openai/v1${one.path}`, by_deployment: false, ...one }, path)
      if (one.kind === 'responses') take(generate, { url: `/openai${one.path}`, by_deployment: false, ...one }, path)
    }
  })

  for (const url of ['/openai/models', '/openai/v1/models'])
    app.get(
      url,
      {
        config: reading,
        schema: { tags, summary: 'List models', querystring: Versioned, response: { 200: listOf(Model) } },
      },
      async ({ caller }, reply) => sendModels(reply, await modelsFor.all(caller)),
    )
}

interface Taken extends Omit<Kind, 'path'> {
  url: string
  by_deployment: boolean
}

function take(app: FastifyInstance, { url, by_deployment, kind, summary, answer }: Taken, path: Generations): void {
  const schema = { tags, summary, querystring: Versioned, body: AnyBody, response: { 200: answer } }
  app.post(
    url,
    {
      config: generating,
      bodyLimit: GENERATION_MAX_BYTES,
      schema: by_deployment ? { params: Params, ...schema } : schema,
      ...(by_deployment && { preValidation: nameDeployment }),
    },
    (request: FastifyRequest, reply) => path.run(kind, request, reply),
  )
}

/** No other byte of the body changes. What is no object is told of where bodies are read. */
const nameDeployment: preValidationHookHandler = (request, _reply, done) => {
  const { deployment: model } = request.params as { deployment: string }
  const { bytes, json } = (request.body as JsonBody | undefined) ?? {}
  if (bytes && typeof json === 'object' && json !== null && !Array.isArray(json)) {
    const fields = json as Record<string, unknown>
    if (fields.model !== model)
      request.body = { bytes: spliceFields({ bytes, json: fields }, { model }), json: { ...fields, model } }
  }
  done()
}
