// A price and a model as answers tell them: in micro-USD, and only what somebody decided to show.
import { type Static, Type } from 'typebox'
import { orNull } from '../core/shapes.ts'
import type { Price } from './price.ts'

const micros = (description: string) => Type.Integer({ description: `${description}, in micro-USD.` })
const ms = () => Type.Integer({ description: 'Milliseconds.' })

const PriceShape = Type.Object(
  {
    input: Type.Integer(),
    cached_input: Type.Integer(),
    cache_write: Type.Integer(),
    cache_write_1h: Type.Optional(Type.Integer({ description: 'Written for an hour, where that has a price.' })),
    output: Type.Integer(),
    web_search: Type.Optional(Type.Integer({ description: 'Micro-USD for one search of the web.' })),
    long: Type.Optional(
      Type.Object(
        {
          above: Type.Integer({ description: 'Tokens.' }),
          input: Type.Integer(),
          cached_input: Type.Integer(),
          cache_write: Type.Integer(),
          cache_write_1h: Type.Optional(Type.Integer()),
          output: Type.Integer(),
        },
        { description: 'Of a prompt with more tokens than `above`, where that has another price.' },
      ),
    ),
    units: Type.Optional(
      Type.Object(
        {
          images: Type.Optional(
            Type.Array(
              Type.Object({
                size: Type.Optional(Type.String()),
                quality: Type.Optional(Type.String()),
                micros: micros('For one image'),
              }),
            ),
          ),
          image_input: Type.Optional(Type.Integer({ description: 'Per million tokens.' })),
          audio_input: Type.Optional(Type.Integer({ description: 'Per million tokens.' })),
          text_output: Type.Optional(Type.Integer({ description: 'Per million tokens.' })),
          characters: Type.Optional(Type.Integer({ description: 'Per million characters that are spoken.' })),
          audio_hour: Type.Optional(Type.Integer({ description: 'For an hour of sound that is listened to.' })),
          audio_least_ms: Type.Optional(ms()),
          searches: Type.Optional(Type.Integer({ description: 'Per thousand searches.' })),
        },
        { description: 'Of what is not counted in tokens of text.' },
      ),
    ),
  },
  { description: 'Micro-USD per million tokens.' },
)

export const ShownModel = Type.Object({
  id: Type.String(),
  price: orNull(PriceShape),
  max_output_tokens: Type.Integer(),
  context_length: orNull(Type.Integer()),
})
export type ShownModel = Static<typeof ShownModel>

interface Served {
  id: string
  price: Price | undefined
  max_output_tokens: number
  context_length?: number
}

export const shownModel = ({ id, price, max_output_tokens, context_length }: Served): ShownModel => ({
  id,
  price: price ?? null,
  max_output_tokens,
  context_length: context_length ?? null,
})
