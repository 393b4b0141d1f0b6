// The compatible surface: /v1 generations. Bodies travel as bytes; nothing of ours ever enters them (§9).
import { isUtf8 } from 'node:buffer'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { BeyondBudget, BUDGETS, isLarge, jsonWithin } from '../core/foreign.ts'
import type { JsonBody } from '../core/json-bytes.ts'
import { jsonIn } from '../core/json-bytes.ts'
import { Refusal } from '../core/refusal.ts'
import { nestsTooDeep, tooDeepOrMany } from '../http/json-body.ts'
import type { Routes } from '../http/routes.ts'
import type { CallKind } from '../providers/provider.ts'
import { CHUNKS, ChatCompletion, Completion, Embeddings, whole, wholeOrStreamed } from './generation-shapes.ts'
import type { Generations } from './running.ts'

export const GENERATION_MAX_BYTES = BUDGETS.generation.bytes

const config = { scope: 'inference', class: 'inference', idempotency: 'own' } as const
const tags = ['Inference (OpenAI-compatible)']
const Open = (title: string, properties: Record<string, ReturnType<typeof Type.Any>>) =>
  Type.Object({ model: Type.String(), ...properties }, { title, additionalProperties: true })
const Streamed = (title: string, properties: Record<string, ReturnType<typeof Type.Any>>) =>
  Open(title, { stream: Type.Optional(Type.Boolean()) as never, ...properties })

interface GenerationRoute {
  url: string
  kind: CallKind
  summary: string
  body: ReturnType<typeof Open>
  answer: object
}

const ROUTES: readonly GenerationRoute[] = [
  {
    url: '/v1/chat/completions',
    kind: 'chat',
    summary: 'Create a chat completion',
    body: Streamed('ChatCompletionRequest', { messages: Type.Array(Type.Any(), { minItems: 1 }) as never }),
    answer: wholeOrStreamed(ChatCompletion, CHUNKS),
  },
  {
    url: '/v1/completions',
    kind: 'completions',
    summary: 'Create a completion',
    body: Streamed('CompletionRequest', { prompt: Type.Any() }),
    answer: wholeOrStreamed(Completion, CHUNKS),
  },
  {
    url: '/v1/embeddings',
    kind: 'embeddings',
    summary: 'Create embeddings',
    body: Open('EmbeddingRequest', { input: Type.Any() }),
    answer: whole(Embeddings),
  },
]

export const v1Routes: Routes<{ path: Generations }> = async (app, { path }) => {
  takeBodiesAsBytes(app)
  for (const { url, kind, summary, body, answer } of ROUTES) {
    const schema = { tags, summary, body, response: { 200: answer } }
    app.post(url, { config, bodyLimit: GENERATION_MAX_BYTES, schema }, (request, reply) =>
      path.run(kind, request, reply),
    )
  }
}

/** The schema documents the body; what it must have is checked where it is read, so that the rest stays untouched. */
export function takeBodiesAsBytes(app: FastifyInstance): void {
  app.setValidatorCompiler(() => () => true)
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    const bytes = body as Buffer
    if (!isUtf8(bytes)) return done(new Refusal('invalid_request', 'The body is not valid UTF-8.'))
    let soon: unknown
    try {
      soon = jsonOf(bytes)
    } catch (cause) {
      return done(unreadable(cause))
    }
    if (soon instanceof Promise) soon.then(take, (cause) => done(unreadable(cause)))
    else take(soon)

    function take(json: unknown): void {
      done(null, { bytes, json } satisfies JsonBody)
    }
  })
}

/** Of a small one, its depth is seen sooner in what it was parsed to than in its bytes. */
function jsonOf(bytes: Buffer): unknown {
  if (isLarge(bytes)) return jsonWithin(BUDGETS.generation, bytes)
  const json = jsonIn(bytes)
  if (nestsTooDeep(json)) throw new BeyondBudget('too deep')
  return json
}

function unreadable(cause: unknown): Refusal {
  if (cause instanceof BeyondBudget) return tooDeepOrMany()
  return new Refusal('invalid_request', 'The body is not valid JSON.', { cause })
}
