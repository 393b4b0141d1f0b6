// R81: what Messages answers with, for the OpenAPI document. An upstream's answer goes on as its bytes.
import { Type } from 'typebox'
import { orNull } from '../core/shapes.ts'

export { whole, wholeOrStreamed } from './generation-shapes.ts'

const count = () => Type.Integer()

export const Message = Type.Object(
  {
    id: Type.String({ description: 'Begins `msg_`.' }),
    type: Type.Literal('message'),
    role: Type.Literal('assistant'),
    model: Type.String(),
    content: Type.Array(
      Type.Object(
        { type: Type.String({ description: '`text`, `thinking`, `tool_use`, …' }) },
        { additionalProperties: true },
      ),
    ),
    stop_reason: orNull(Type.String({ description: '`end_turn`, `max_tokens`, `tool_use`, `refusal`, …' })),
    stop_sequence: Type.Optional(orNull(Type.String())),
    usage: Type.Object({ input_tokens: count(), output_tokens: count() }, { additionalProperties: true }),
  },
  { title: 'Message', additionalProperties: true },
)

export const TokenCount = Type.Object({ input_tokens: count() }, { title: 'TokenCount', additionalProperties: true })

export const MESSAGE_EVENTS =
  'Events `event: message_start`, `content_block_…`, `message_delta` and, at the end, `message_stop` or `error`; ' +
  '`ping` in between. What it cost is in trailers, and in usage under its trace id.'
