// Whoever speaks the OpenAI protocol. The body goes out and the answer comes back as bytes; only the address, the
// credential and the headers are ours. Nothing of the client's own headers is known here (T-85).
import { messagesRequest } from '../anthropic/messages-request.ts'
import { LISTING_TIMEOUTS, type ModelList, readModelList } from '../model-list.ts'
import { type CallKind, isMediaKind, type Provider, type ProviderCall } from '../provider.ts'
import type { Upstream } from '../upstream.ts'

export interface OpenaiOptions {
  base_url: string
  /** None, or empty, for an upstream that takes none. */
  api_key: string | undefined
  upstream: Upstream
  /** It has a Responses API of its own. */
  responses: boolean
  /** It has a Messages API beside them, as vLLM and llama.cpp have. */
  messages?: boolean | undefined
  /** Where its key goes; undefined: by its address. */
  key_header?: 'api-key'
  /** It has no more than these; undefined: as the protocol has them. */
  kinds?: readonly CallKind[]
}

export interface OpenaiProvider extends Provider {
  /** R52: what it serves, or why it does not say. */
  listModels(signal: AbortSignal): Promise<ModelList>
}

const PATHS: Record<CallKind, string> = {
  chat: '/chat/completions',
  completions: '/completions',
  embeddings: '/embeddings',
  responses: '/responses',
  messages: '/messages',
  images: '/images/generations',
  image_edits: '/images/edits',
  speech: '/audio/speech',
  transcriptions: '/audio/transcriptions',
  moderations: '/moderations',
  rerank: '/rerank',
}

export function openaiCompatible(options: OpenaiOptions): OpenaiProvider {
  const { upstream, responses, messages, kinds } = options
  const identity = { ...credential(options), 'accept-encoding': 'identity', 'user-agent': 'switchyard' }
  const plain = { ...identity, 'content-type': 'application/json', accept: 'application/json' }
  const streaming = { ...plain, accept: 'text/event-stream' }
  const media = { ...plain, accept: '*/*' }
  const form_of = { ...identity, accept: '*/*' }
  return {
    speaks(kind) {
      if (kinds) return kinds.includes(kind)
      return kind === 'messages' ? messages === true : kind !== 'responses' || responses
    },

    call(call, signal) {
      const { kind, body, stream, headers, timeouts } = call
      if (isMediaKind(kind)) return upstream.send({ method: 'POST', path: PATHS[kind], ...written(call) }, signal)
      const standing = stream ? streaming : plain
      if (kind === 'messages') return upstream.send({ standing, ...messagesRequest(call, headers) }, signal)
      const path = call.below === undefined ? PATHS[kind] : `${PATHS[kind]}/${call.below}`
      return upstream.send({ method: 'POST', path, headers, standing, body, timeouts }, signal)
    },

    async listModels(signal) {
      const headers = { ...identity, accept: 'application/json' }
      const request = { method: 'GET', path: '/models', headers, timeouts: LISTING_TIMEOUTS } as const
      return readModelList(await upstream.send(request, signal))
    },
  }

  /** A form says itself what it is. */
  function written({ body, form, headers, timeouts }: ProviderCall) {
    if (!form) return { headers, standing: media, body, timeouts }
    return { headers: { ...headers, 'content-type': form.content_type }, standing: form_of, source: form, timeouts }
  }
}

const AZURE = /\.(openai|cognitiveservices|services\.ai)\.azure\.com$/

function credential({ base_url, api_key, key_header }: OpenaiOptions): Record<string, string> {
  if (!api_key) return {}
  const is_azure = key_header === 'api-key' || AZURE.test(new URL(base_url).hostname)
  return is_azure ? { 'api-key': api_key } : { authorization: `Bearer ${api_key}` }
}
