// The compatible surface beside text: images, sound, judgements and rankings. Bodies of JSON have at most 1 MiB; forms
// are read into a spool as they come, and answers pass through or lie in one: never more than 1 MiB of either is held.
import type { TSchema } from 'typebox'
import type { Routes } from '../http/routes.ts'
import { FORM_MAX_BYTES, readForms } from '../media/form-hooks.ts'
import type { MediaKind } from '../providers/provider.ts'
import { takeBodiesAsBytes } from './byte-bodies.ts'
import { whole, wholeOrStreamed } from './generation-shapes.ts'
import {
  IMAGE_EVENTS,
  ImageEditRequest,
  ImageRequest,
  Images,
  Moderation,
  ModerationRequest,
  Ranking,
  RerankRequest,
  SpeechRequest,
  sound,
  TRANSCRIPT_EVENTS,
  Transcription,
  TranscriptionRequest,
} from './media-shapes.ts'
import type { Generations } from './running.ts'

const JSON_MAX_BYTES = 1024 * 1024
const config = { scope: 'inference', class: 'inference', idempotency: 'own' } as const
const tags = ['Inference (OpenAI-compatible)']

interface MediaRoute {
  url: string
  kind: MediaKind
  summary: string
  body: TSchema
  answer: object
}

const JSON_ROUTES: readonly MediaRoute[] = [
  {
    url: '/v1/images/generations',
    kind: 'images',
    summary: 'Create images',
    body: ImageRequest,
    answer: wholeOrStreamed(Images, IMAGE_EVENTS),
  },
  { url: '/v1/audio/speech', kind: 'speech', summary: 'Create speech', body: SpeechRequest, answer: sound },
  {
    url: '/v1/moderations',
    kind: 'moderations',
    summary: 'Classify what is harmful',
    body: ModerationRequest,
    answer: whole(Moderation),
  },
  { url: '/v1/rerank', kind: 'rerank', summary: 'Rank documents', body: RerankRequest, answer: whole(Ranking) },
]

const FORM_ROUTES: readonly MediaRoute[] = [
  {
    url: '/v1/images/edits',
    kind: 'image_edits',
    summary: 'Edit images',
    body: ImageEditRequest,
    answer: wholeOrStreamed(Images, IMAGE_EVENTS),
  },
  {
    url: '/v1/audio/transcriptions',
    kind: 'transcriptions',
    summary: 'Transcribe sound',
    body: TranscriptionRequest,
    answer: wholeOrStreamed(Transcription, TRANSCRIPT_EVENTS),
  },
]

export const mediaRoutes: Routes<{ path: Generations }> = async (app, { path }) => {
  await app.register(async (json) => {
    takeBodiesAsBytes(json)
    for (const { url, kind, summary, body, answer } of JSON_ROUTES) {
      const schema = { tags, summary, body, response: { 200: answer } }
      json.post(url, { config, bodyLimit: JSON_MAX_BYTES, schema }, (request, reply) => path.run(kind, request, reply))
    }
  })

  await app.register(async (forms) => {
    forms.removeContentTypeParser('application/json')
    readForms(forms, path.media_room)
    for (const { url, kind, summary, body, answer } of FORM_ROUTES) {
      const schema = { tags, summary, consumes: ['multipart/form-data'], body, response: { 200: answer } }
      const validatorCompiler = () => () => true // a form's fields are texts
      forms.post(url, { config, bodyLimit: FORM_MAX_BYTES, validatorCompiler, schema }, (request, reply) =>
        path.run(kind, request, reply),
      )
    }
  })
}
