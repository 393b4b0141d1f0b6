// §4.11: what calls for images, sound, rankings and judgements take and answer with, for the OpenAPI document. Nothing
// is held against these: they say what clients of the protocol rely on.
import { type TProperties, Type } from 'typebox'
import { orNull } from '../core/shapes.ts'

const Open = <P extends TProperties>(properties: P, title: string) =>
  Type.Object(properties, { title, additionalProperties: true })
const maybe = Type.Optional
const file = (description: string) => Type.String({ format: 'binary', description })

const drawn = {
  prompt: Type.String(),
  n: maybe(Type.Integer({ minimum: 1, maximum: 128 })),
  size: maybe(Type.String()),
  quality: maybe(Type.String()),
  stream: maybe(Type.Boolean()),
}

export const ImageRequest = Open({ model: Type.String(), ...drawn }, 'ImageRequest')
export const ImageEditRequest = Open(
  {
    model: Type.String(),
    image: file('One, or several as `image[]`.'),
    mask: maybe(file('Where to edit.')),
    ...drawn,
  },
  'ImageEditRequest',
)
export const Images = Open(
  {
    created: Type.Integer({ description: 'Unix seconds.' }),
    data: Type.Array(
      Type.Object(
        { b64_json: maybe(orNull(Type.String())), url: maybe(orNull(Type.String())) },
        { additionalProperties: true },
      ),
    ),
  },
  'Images',
)

export const SpeechRequest = Open(
  {
    model: Type.String(),
    input: Type.String(),
    voice: maybe(Type.Any()),
    response_format: maybe(Type.String()),
    stream_format: maybe(Type.String({ description: '`audio`, or `sse` for events.' })),
  },
  'SpeechRequest',
)
export const TranscriptionRequest = Open(
  {
    model: Type.String(),
    file: file('The sound.'),
    response_format: maybe(Type.String({ description: '`json`, `verbose_json`, `text`, `srt` or `vtt`, mostly.' })),
    stream: maybe(Type.Boolean()),
  },
  'TranscriptionRequest',
)
export const Transcription = Open({ text: Type.String() }, 'Transcription')

export const ModerationRequest = Open(
  { input: Type.Any(), model: maybe(Type.String({ description: 'Default `omni-moderation-latest`.' })) },
  'ModerationRequest',
)
export const Moderation = Open(
  { id: Type.String(), model: Type.String(), results: Type.Array(Type.Object({}, { additionalProperties: true })) },
  'Moderation',
)

export const RerankRequest = Open(
  {
    model: Type.String(),
    query: Type.String(),
    documents: Type.Array(Type.Any(), { minItems: 1 }),
    top_n: maybe(Type.Integer()),
    return_documents: maybe(Type.Boolean()),
  },
  'RerankRequest',
)
export const Ranking = Open(
  {
    results: Type.Array(
      Type.Object({ index: Type.Integer(), relevance_score: Type.Number() }, { additionalProperties: true }),
    ),
  },
  'Ranking',
)

export const IMAGE_EVENTS =
  'Events `image_generation.partial_image` and `image_generation.completed`, or `image_edit.…`, as the upstream ' +
  'sends them. What it cost is in trailers, and in usage under its trace id.'
export const TRANSCRIPT_EVENTS =
  'Events `transcript.text.delta` and `transcript.text.done`, as the upstream sends them. What it cost is in ' +
  'trailers, and in usage under its trace id.'

/** Sound as it comes, or events. */
export const sound = {
  description: 'The sound as it is spoken, in the format that was asked for. What it cost is in trailers.',
  content: {
    '*/*': { schema: Type.String({ format: 'binary' }) },
    'text/event-stream': {
      schema: Type.String({ description: 'Events `speech.audio.delta` and `speech.audio.done` where it is `sse`.' }),
    },
  },
}
