// How Bedrock answers, for the programmable upstream: it checks signatures, dates and bodies as AWS does, and refuses what
// AWS refuses, in its words.
import type { ServerResponse } from 'node:http'
import { chunkMessage } from './aws-event-stream.ts'
import { type AwsAccount, signatureFault } from './aws-signature-check.ts'
import { converseAnswer, converseFrames, wrongInConverse } from './converse-server.ts'
import type { Behaviour, Manner, Recorded, Saying } from './upstream.ts'
import { answerTo } from './upstream-protocols.ts'

export interface BedrockAccount extends AwsAccount {
  /** Ids of models and inference profiles that it has. */
  models: readonly string[]
  /** A key of Bedrock's own, which may come in place of a signature. */
  api_key?: string
}

/** What it does with a call that is in order: as Claude answers, unless `events` or `behaviour` say otherwise. */
export interface BedrockManner {
  saying?: Saying
  /** Frames of a stream, in place of those of the answer. */
  frames?: readonly Buffer[]
  headers?: Record<string, string>
  behaviour?: Behaviour
  /** Bytes are written in pieces of this size. */
  drip_bytes?: number
}

export const exception = (status: number, name: string, message: string): Behaviour => ({
  status,
  headers: { 'x-amzn-errortype': `${name}:http://internal.amazon.com/coral/com.amazon.bedrock/` },
  body: { message },
})

export const bedrock =
  (account: BedrockAccount, manner: BedrockManner = {}): Manner =>
  (request) =>
    faultOf(request, account) ?? manner.behaviour ?? answerOf(request, account, manner)

function faultOf(request: Recorded, account: BedrockAccount): Behaviour | undefined {
  const { api_key } = account
  if (api_key !== undefined && request.headers.authorization === `Bearer ${api_key}`) return undefined
  const fault = signatureFault(request, account)
  return fault && exception(403, ...fault)
}

const OPERATION = /^\/model\/([^/]+)\/(invoke|invoke-with-response-stream|count-tokens|converse|converse-stream)$/

function answerOf(request: Recorded, { models }: BedrockAccount, manner: BedrockManner): Behaviour {
  if (request.path === '/openai/v1/chat/completions') return models.includes(request.body.model) ? {} : NO_MODEL
  const [, name = '', operation] = OPERATION.exec(request.path) ?? []
  if (!operation) return exception(404, 'UnknownOperationException', 'unknown operation')
  const model = decodeURIComponent(name)
  if (!models.includes(model)) return NO_MODEL
  if (operation.startsWith('converse')) return conversed(request, operation, manner)
  const asked =
    operation === 'count-tokens'
      ? JSON.parse(Buffer.from(request.body.input.invokeModel.body, 'base64').toString())
      : request.body
  const wrong = wrongIn(asked)
  if (wrong !== undefined) return exception(400, 'ValidationException', wrong)
  if (operation === 'count-tokens') return { body: { inputTokens: 42 } }
  const answer = answerTo(
    { ...request, path: '/v1/messages', body: { ...asked, model, stream: operation !== 'invoke' } },
    manner.saying ?? {},
  )
  if (answer.kind === 'whole') return { body: answer.body, ...(manner.headers && { headers: manner.headers }) }
  const frames = manner.frames ?? answer.events.map((event) => chunkMessage(/data: (.*)/.exec(event)?.[1] ?? ''))
  return { respond: (_request, response) => sendFrames(response, frames, manner.drip_bytes) }
}

function conversed({ body }: Recorded, operation: string, manner: BedrockManner): Behaviour {
  const wrong = wrongInConverse(body)
  if (wrong !== undefined) return exception(400, 'ValidationException', wrong)
  const { saying = {}, drip_bytes } = manner
  if (operation === 'converse') return { body: converseAnswer(saying), headers: { 'x-amzn-requestid': REQUEST_ID } }
  return { respond: (_request, response) => sendFrames(response, manner.frames ?? converseFrames(saying), drip_bytes) }
}

/** As AWS names each call. */
export const REQUEST_ID = '0f7b4a52-6c1d-4f0e-9f57-1f1f3c0a9b11'

const NO_MODEL = exception(
  404,
  'ResourceNotFoundException',
  'Could not resolve the foundation model from the identifier.',
)

function wrongIn(body: Record<string, unknown> | undefined): string | undefined {
  if (!body || Object.keys(body).length === 0) return 'The request body is empty.'
  for (const field of ['model', 'stream']) if (field in body) return `${field}: Extra inputs are not permitted`
  if (body.anthropic_version !== 'bedrock-2023-05-31') return 'anthropic_version: Field required'
  if (typeof body.max_tokens !== 'number') return 'max_tokens: Field required'
  if (Array.isArray(body.anthropic_beta) && body.anthropic_beta.includes('unknown-2020-01-01'))
    return 'invalid beta flag'
  return undefined
}

async function sendFrames(response: ServerResponse, frames: readonly Buffer[], drip_bytes = 0): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' })
  response.flushHeaders()
  const bytes = Buffer.concat(frames)
  const size = drip_bytes || bytes.length
  for (let at = 0; at < bytes.length && !response.destroyed; at += size) {
    response.write(bytes.subarray(at, at + size))
    await new Promise((turn) => setImmediate(turn))
  }
  response.end()
}
