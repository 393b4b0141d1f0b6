// R81: how many tokens a prompt has, as its upstream counts them. Nothing is generated, charged or kept.
import type { FastifyRequest } from 'fastify'
import { whatWasRefused, wordsOf } from '../answers/upstream-reason.ts'
import { verdictOn } from '../answers/upstream-verdict.ts'
import { BUDGETS } from '../core/foreign.ts'
import { traceIdOf } from '../core/ids.ts'
import type { JsonBody } from '../core/json-bytes.ts'
import { spliceFields } from '../core/json-splice.ts'
import { lanes } from '../core/lanes.ts'
import { type Maker, maySee } from '../core/maker.ts'
import { type InItsWords, Refusal } from '../core/refusal.ts'
import { Stop } from '../core/stop-signal.ts'
import { inItsWords } from '../messages/upstream-words.ts'
import { upTo } from '../providers/first-bytes.ts'
import { type ProviderCall, UpstreamError } from '../providers/provider.ts'
import { readConversation, selfContained } from '../responses/conversation.ts'
import { isObject } from '../responses/response-request.ts'
import { speaksMessages, type Target } from '../routing/target.ts'
import { checkedModel } from './call.ts'
import { askedOfMessages } from './messages-asked.ts'
import type { Path } from './path.ts'
import { routeFor } from './route-for.ts'

const TIMEOUTS = { first_byte_ms: 15_000, idle_ms: 5_000, total_ms: 20_000 }

export async function countTokens(path: Path, request: FastifyRequest): Promise<InItsWords> {
  const { caller, body } = request
  const { bytes, json } = (body as JsonBody | undefined) ?? { bytes: Buffer.alloc(0), json: undefined }
  const fields = fieldsOf(json)
  const trace_id = traceIdOf(request.id)
  const asking = {
    kind: 'messages',
    model: fields.model,
    trace_id,
    session_id: undefined,
    caller,
    hints: undefined,
  } as const
  const { candidates } = await routeFor(path, asking)
  const target = candidates.find(speaksMessages)
  if (!target) throw new Refusal('not_found', `The upstream of '${fields.model}' counts no tokens ahead of an answer.`)
  const spliced = target.model === fields.model ? bytes : spliceFields({ bytes, json: fields }, { model: target.model })
  const { headers, query } = askedOfMessages(request)
  return ask(path, request, target, { kind: 'messages', body: spliced, headers, query, counts_only: true })
}

/** R78: a few bytes may continue 32 MiB, and no rate of tokens bounds counting: so many of a project at a time. */
const inLane = lanes({ at_once: 2, waiting_max: 50 })

/** The same of a Responses request: what it continues lies here, so an upstream gets all of it at once. */
export async function countResponseTokens(path: Path, request: FastifyRequest): Promise<InItsWords> {
  const { json } = (request.body as JsonBody | undefined) ?? {}
  const count = () => countWhole(path, request)
  return isObject(json) && json.previous_response_id ? inLane(request.caller.project_id, count) : count()
}

async function countWhole(path: Path, request: FastifyRequest): Promise<InItsWords> {
  const { caller, body } = request
  const came = (body as JsonBody | undefined) ?? { bytes: Buffer.alloc(0), json: undefined }
  const { model } = fieldsOf(came.json)
  const trace_id = traceIdOf(request.id)
  const asking = { kind: 'responses', model, trace_id, session_id: undefined, caller, hints: undefined } as const
  const { candidates } = await routeFor(path, asking)
  const target = candidates.find(({ dialling }) => dialling.responses_native)
  if (!target)
    throw new Refusal(
      'not_found',
      `The upstream of '${model}' counts no tokens ahead of an answer: it speaks chat alone.`,
    )
  const { project_id } = caller
  const now = path.clock.now()
  const mayUse = (maker: Maker) => maySee(caller, maker)
  const unstored = { ...(came.json as object), store: false, stream: false, stream_options: null }
  const conversation = await readConversation(unstored, path.responses, { surface: 'v1', project_id, now, mayUse })
  const whole = await selfContained(came, conversation)
  const fields = whole.json as Record<string, unknown>
  const spliced =
    target.model === model ? whole.bytes : spliceFields({ ...whole, json: fields }, { model: target.model })
  const headers = { 'x-request-id': trace_id }
  return ask(path, request, target, { kind: 'responses', body: spliced, headers, below: 'input_tokens' })
}

function fieldsOf(json: unknown): Record<string, unknown> & { model: string } {
  if (!isObject(json)) throw new Refusal('invalid_request', 'The body must be a JSON object.')
  checkedModel(json.model)
  return json as Record<string, unknown> & { model: string }
}

type Count = Omit<ProviderCall, 'stream' | 'timeouts'>

/** It takes a slot of the target like any call, since it takes a connection. */
async function ask(path: Path, request: FastifyRequest, target: Target, count: Count): Promise<InItsWords> {
  const { caller, received_at } = request
  const stop = new Stop()
  const slot = await path.slots.admit({
    target_id: target.id,
    max_concurrency: target.dialling.max_concurrency,
    is_shared: target.profile === 'managed_provider' || target.profile === 'subscription',
    class: 'standard',
    project_id: caller.project_id,
    share: caller.share,
    key_id: caller.key_id,
    input_tokens_est: 0,
    body_bytes: count.body.length,
    arrived_at: received_at,
    signal: stop,
  })
  try {
    const provider = await path.dialer.providerFor(target, caller.project_id)
    const answer = await provider.call({ stream: false, timeouts: TIMEOUTS, ...count }, stop)
    const { bytes } = await upTo(BUDGETS.envelope.bytes, answer)
    const { status, content_type, told } = answer
    if (status === 200) return { status, headers: { ...told, 'content-type': content_type }, body: bytes }
    const secret = await path.dialer.secretFor(target, caller.project_id)
    const words = inItsWords(answer, bytes, secret)
    if (words) return words
    const { envelope } = whatWasRefused(bytes)
    if (count.kind === 'responses' && envelope && verdictOn(status, undefined).kind === 'hand_on')
      throw new Refusal(
        'invalid_request',
        `The upstream refused this request with status ${status}: ${wordsOf(bytes, secret)}`,
      )
    if (status === 404 || status === 405)
      throw new Refusal('not_found', `The upstream '${target.provider}' counts no tokens.`)
    throw failed(target, new Error(`upstream: status ${status}`))
  } catch (error) {
    throw error instanceof UpstreamError ? failed(target, error) : error
  } finally {
    slot.release()
  }
}

const failed = ({ provider }: Target, cause: unknown) =>
  new Refusal('upstream_failed', `The upstream '${provider}' could not count the tokens.`, { cause })
