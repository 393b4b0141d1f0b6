// AWS Bedrock by Converse, below the adapter of OpenAI's protocol: chat goes out as Converse or ConverseStream, and
// comes back as chat. For models that are no Claude and that Bedrock does not serve by OpenAI's protocol (0348).
import type { Clock } from '../../core/clock.ts'
import { BUDGETS, jsonWithin } from '../../core/foreign.ts'
import { randomBase62 } from '../../core/ids.ts'
import { jsonBytes } from '../../core/json-writing.ts'
import { type BedrockOptions, inChat } from '../platforms/bedrock.ts'
import { plainHeaders, platformCaller } from '../platforms/platform-caller.ts'
import { errorBody, jsonAnswer } from '../prepared-answer.ts'
import type { ProviderAnswer } from '../provider.ts'
import { retoldJson } from '../retold-answer.ts'
import type { Upstream } from '../upstream.ts'
import { type AnswerNames, toCompletion } from './converse-answer.ts'
import { type AskedConverse, toConverse } from './converse-request.ts'
import type { ConverseAnswer } from './converse-shapes.ts'
import { ConverseChunks, failed } from './converse-stream.ts'

const JSON_TYPE = 'application/json'
const EVENT_STREAM = 'application/vnd.amazon.eventstream'

type Asked = Extract<AskedConverse, { kind: 'request' }>

export function bedrockConverse(upstream: Upstream, options: BedrockOptions, clock: Clock): Upstream {
  const call = platformCaller(upstream, options.base_url, options.prove)
  const pathOf = (model: string, operation: string) => `/model/${encodeURIComponent(model)}/${operation}`
  return {
    async send(request, signal) {
      const { timeouts, body = Buffer.from('{}') } = request
      const headers = plainHeaders(request)
      // It has no list: a call without a request in it says whether the caller is known, and costs nothing.
      const probe = { path: pathOf(options.model, 'converse'), body: Buffer.from('{}'), accept: JSON_TYPE }
      if (request.method === 'GET') return call({ ...probe, headers, timeouts }, signal)
      const asked = toConverse((await jsonWithin(BUDGETS.own, body)) as Record<string, unknown>)
      if (asked.kind === 'refused') return jsonAnswer(400, errorBody(asked.message, 'invalid_request_error'), signal)
      const path = pathOf(asked.model, asked.stream ? 'converse-stream' : 'converse')
      const accept = asked.stream ? EVENT_STREAM : JSON_TYPE
      const sent = await jsonBytes(asked.body, body.length)
      const answer = await call({ path, body: sent, accept, headers, timeouts }, signal)
      const told = translated(answer, asked, { options, created: Math.floor(clock.now() / 1_000) })
      return asked.left_out.length > 0 ? { ...told, left_out: asked.left_out } : told
    },
    retire: upstream.retire,
    close: upstream.close,
  }
}

interface Telling {
  options: BedrockOptions
  created: number
}

function translated(answer: ProviderAnswer, asked: Asked, { options, created }: Telling): ProviderAnswer {
  if (answer.status >= 400) return inChat(answer, options.secrets())
  if (answer.status !== 200) return answer
  const { model, wants_usage, one_call } = asked
  const names = { id: idOf(answer), model, created }
  return asked.stream
    ? streamed(answer, new ConverseChunks({ names, wants_usage, one_call }))
    : retoldJson(answer, async (taking) => completionFrom(await answer.whole(taking), { names, one_call }))
}

function streamed(answer: ProviderAnswer, chunks: ConverseChunks): ProviderAnswer {
  const each: ProviderAnswer['each'] = async (take) => {
    await answer.each((part) => {
      const said = chunks.take(part)
      return said instanceof Promise ? said.then(take) : take(said)
    })
    const rest = chunks.end()
    if (rest.length > 0) await take(rest)
  }
  const whole = async () => {
    const parts: Buffer[] = []
    await each((part) => void parts.push(part))
    return Buffer.concat(parts)
  }
  return { ...answer, content_type: 'text/event-stream; charset=utf-8', each, whole }
}

async function completionFrom(bytes: Buffer, telling: { names: AnswerNames; one_call: boolean }): Promise<Buffer> {
  try {
    const answer = (await jsonWithin(BUDGETS.answer, bytes)) as ConverseAnswer | null
    if (!Array.isArray(answer?.output?.message?.content)) throw new Error('an answer that is no message')
    return await jsonBytes(toCompletion(answer as ConverseAnswer, telling), bytes.length)
  } catch (error) {
    return failed(error)
  }
}

/** By the name that AWS has for the call, which its support asks for. */
function idOf({ heard }: ProviderAnswer): string {
  const told = heard?.get('x-amzn-requestid') ?? ''
  return `chatcmpl-${/^[\w-]{8,64}$/.test(told) ? told : randomBase62(24)}`
}
