// R81: Anthropic's protocol, for clients whose base URL is /anthropic: messages, and what they would count.
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Routes } from '../http/routes.ts'
import { GENERATION_MAX_BYTES, takeBodiesAsBytes } from './byte-bodies.ts'
import { MESSAGE_EVENTS, Message, TokenCount, whole, wholeOrStreamed } from './message-shapes.ts'
import type { Generations } from './running.ts'

const tags = ['Messages (Anthropic-compatible)']
const generating = { scope: 'inference', class: 'inference', idempotency: 'own', x_api_key: true } as const
/** Free, and the same however often it is asked: there is nothing to keep. */
const counting = { scope: 'inference', class: 'read', idempotency: 'own', x_api_key: true } as const

const MessageRequest = Type.Object(
  {
    model: Type.String(),
    max_tokens: Type.Integer({ minimum: 0 }),
    messages: Type.Array(Type.Any(), { minItems: 1 }),
    stream: Type.Optional(Type.Boolean()),
  },
  { title: 'MessageRequest', additionalProperties: true },
)
const CountRequest = Type.Object(
  { model: Type.String(), messages: Type.Array(Type.Any(), { minItems: 1 }) },
  { title: 'CountTokensRequest', additionalProperties: true },
)

export const messagesRoutes: Routes<{ path: Generations }> = async (app, { path }) => {
  takeBodiesAsBytes(app)

  app.post(
    '/anthropic/v1/messages',
    {
      config: generating,
      bodyLimit: GENERATION_MAX_BYTES,
      schema: {
        tags,
        summary: 'Create a message',
        body: MessageRequest,
        response: { 200: wholeOrStreamed(Message, MESSAGE_EVENTS) },
      },
    },
    (request, reply) => path.run('messages', request, reply),
  )

  app.post(
    '/anthropic/v1/messages/count_tokens',
    {
      config: counting,
      bodyLimit: GENERATION_MAX_BYTES,
      schema: {
        tags,
        summary: 'Count the tokens of a message',
        description: 'By the upstream, at no charge; 404 where the upstream of the model counts none.',
        body: CountRequest,
        response: { 200: whole(TokenCount) },
      },
    },
    async (request: FastifyRequest, reply) => {
      const { status, headers, body } = await path.countTokens(request)
      return reply.code(status).headers(headers).send(body)
    },
  )
}
