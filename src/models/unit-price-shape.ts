// How prices that are not of tokens of text are written in switchyard.yaml and in a price file, in USD.
import { type Static, Type } from 'typebox'
import type { UnitDollars } from './price-rows.ts'

const usd = (description: string) => Type.Optional(Type.Number({ minimum: 0, description }))

const ImagePrices = Type.Array(
  Type.Object(
    {
      usd: Type.Number({ minimum: 0, description: 'For one image.' }),
      size: Type.Optional(
        Type.String({ minLength: 1, maxLength: 64, description: 'Such as 1024x1024; left out: of every size.' }),
      ),
      quality: Type.Optional(
        Type.String({ minLength: 1, maxLength: 64, description: 'Such as hd; left out: of every one.' }),
      ),
    },
    { additionalProperties: false },
  ),
  { minItems: 1, maxItems: 100, description: 'What an image costs, by size and quality; else the dearest of them.' },
)

/** Each may be left out. A model that has one needs no price of tokens. */
export const unitFields = {
  image_prices: Type.Optional(ImagePrices),
  image_input_usd_per_million: usd('Tokens of images in the input. Default: as input.'),
  audio_input_usd_per_million: usd('Tokens of sound in the input. Default: as input.'),
  text_output_usd_per_million: usd('Tokens of text in the output of a model that draws. Default: as output.'),
  speech_usd_per_million_characters: usd('Text that is spoken, by its characters.'),
  audio_usd_per_hour: usd('Sound that is listened to; $0.006 a minute is 0.36.'),
  audio_least_seconds: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 3_600, description: 'No call counts for less sound.' }),
  ),
  rerank_usd_per_thousand: usd('A thousand searches of a model that ranks.'),
}

const UnitFields = Type.Object(unitFields)
export type UnitFields = Static<typeof UnitFields>

/** Undefined where none is given. */
export function unitDollarsOf(model: UnitFields): UnitDollars | undefined {
  const units: Record<string, unknown> = {
    images: model.image_prices?.map(({ usd, size, quality }) => [usd, size, quality]),
    image_input: model.image_input_usd_per_million,
    audio_input: model.audio_input_usd_per_million,
    text_output: model.text_output_usd_per_million,
    characters: model.speech_usd_per_million_characters,
    audio_hour: model.audio_usd_per_hour,
    audio_least_s: model.audio_least_seconds,
    searches: model.rerank_usd_per_thousand,
  }
  const given = Object.entries(units).filter(([, value]) => value !== undefined)
  return given.length === 0 ? undefined : (Object.fromEntries(given) as UnitDollars)
}

/** The other way, for a price file to begin with. */
export function unitFieldsOf({ images, ...usd }: UnitDollars): UnitFields {
  const fields: Record<string, unknown> = {
    image_prices: images?.map(([each, size, quality]) => ({
      usd: each,
      ...(size !== undefined && { size }),
      ...(quality !== undefined && { quality }),
    })),
    image_input_usd_per_million: usd.image_input,
    audio_input_usd_per_million: usd.audio_input,
    text_output_usd_per_million: usd.text_output,
    speech_usd_per_million_characters: usd.characters,
    audio_usd_per_hour: usd.audio_hour,
    audio_least_seconds: usd.audio_least_s,
    rerank_usd_per_thousand: usd.searches,
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
