// The compatible surface: /v1 generations. Bodies travel as bytes; nothing of ours ever enters them (§9).
import { Type } from 'typebox'
import type { Routes } from '../http/routes.ts'
import type { CallKind } from '../providers/provider.ts'
import { GENERATION_MAX_BYTES, takeBodiesAsBytes } from './byte-bodies.ts'
import { CHUNKS, ChatCompletion, Completion, Embeddings, whole, wholeOrStreamed } from './generation-shapes.ts'
import { mediaRoutes } from './media-routes.ts'
import type { Generations } from './running.ts'

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
  await app.register(mediaRoutes, { path })
  takeBodiesAsBytes(app)
  for (const { url, kind, summary, body, answer } of ROUTES) {
    const schema = { tags, summary, body, response: { 200: answer } }
    app.post(url, { config, bodyLimit: GENERATION_MAX_BYTES, schema }, (request, reply) =>
      path.run(kind, request, reply),
    )
  }
}
