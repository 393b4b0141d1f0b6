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
import { tagsOf } from '../headers/call-tags.ts'
import { inItsWords } from '../messages/upstream-words.ts'
import { upTo } from '../providers/first-bytes.ts'
import { type ProviderCall, UpstreamError } from '../providers/provider.ts'
import { readConversation, selfContained } from '../responses/conversation.ts'
import { pointersIn } from '../responses/pointed-items.ts'
import { isObject } from '../responses/response-request.ts'
import { speaksMessages, type Target } from '../routing/target.ts'
import { checkedModel } from './call.ts'
import { askedOfMessages } from './messages-asked.ts'
import type { Path } from './path.ts'
import { isExpandable, isExpanded } from './prompt-expansion.ts'
import { routeFor } from './route-for.ts'

const TIMEOUTS = { first_byte_ms: 15_000, idle_ms: 5_000, total_ms: 20_000 }

export async function countTokens(path: Path, request: FastifyRequest): Promise<InItsWords> {
  const came = bodyOf(request)
  const fields = checkedFields(request, came)
  return inItsLane(request, isExpanded('messages', request, fields), async () => {
    const target = (await candidatesFor(path, request, { kind: 'messages', fields })).find(speaksMessages)
    if (!target)
      throw new Refusal('not_found', `The upstream of '${fields.model}' counts no tokens ahead of an answer.`)
    const { headers, query } = askedOfMessages(request)
    return askExpanded(path, request, came, { target, kind: 'messages', headers, query, counts_only: true })
  })
}

/** The same of a Responses request: what it continues lies here, so an upstream gets all of it at once. */
export async function countResponseTokens(path: Path, request: FastifyRequest): Promise<InItsWords> {
  const came = bodyOf(request)
  const fields = checkedFields(request, came)
  const { previous_response_id, input } = fields
  const points = Array.isArray(input) && pointersIn(input.filter(isObject)) !== undefined
  const may_grow = points || Boolean(previous_response_id) || isExpanded('responses', request, fields)
  return inItsLane(request, may_grow, async () => {
    const candidates = await candidatesFor(path, request, { kind: 'responses', fields })
    const target = candidates.find(({ dialling }) => dialling.responses_native)
    if (!target)
      throw new Refusal(
        'not_found',
        `The upstream of '${fields.model}' counts no tokens ahead of an answer: it speaks chat alone.`,
      )
    const whole = await continued(path, request, came)
    const headers = { 'x-request-id': traceIdOf(request.id) }
    return askExpanded(path, request, whole, { target, kind: 'responses', headers, below: 'input_tokens' })
  })
}

const bodyOf = ({ body }: FastifyRequest) =>
  (body as JsonBody | undefined) ?? { bytes: Buffer.alloc(0), json: undefined }

const countedInLane = lanes({ at_once: 2, waiting_max: 50 })

/** R78: a few bytes may become 32 MiB, and no rate of tokens bounds counting: so many of a project at a time. */
const inItsLane = <T>({ caller }: FastifyRequest, may_grow: boolean, count: () => Promise<T>): Promise<T> =>
  may_grow ? countedInLane(caller.project_id, count) : count()

type Fields = Record<string, unknown> & { model: string }

/** §10.1: tags are read though nothing is filed under them, so that they are refused here as where the call is made. */
function checkedFields({ headers }: FastifyRequest, { json }: JsonBody): Fields {
  if (!isObject(json)) throw new Refusal('invalid_request', 'The body must be a JSON object.')
  checkedModel(json.model)
  tagsOf(headers['agent-tags'], {})
  return json as Fields
}

async function candidatesFor(path: Path, request: FastifyRequest, { kind, fields: { model } }: Counted) {
  const { caller, id } = request
  const asking = { kind, model, trace_id: traceIdOf(id), session_id: undefined, caller, hints: undefined }
  return (await routeFor(path, asking)).candidates
}

interface Counted {
  kind: 'messages' | 'responses'
  fields: Fields
}

async function continued(path: Path, { caller }: FastifyRequest, came: JsonBody): Promise<JsonBody> {
  const { project_id } = caller
  const now = path.clock.now()
  const mayUse = (maker: Maker) => maySee(caller, maker)
  const unstored = { ...(came.json as object), store: false, stream: false, stream_options: null }
  const conversation = await readConversation(unstored, path.responses, { surface: 'v1', project_id, now, mayUse })
  return selfContained(came, conversation)
}

type Count = Omit<ProviderCall, 'stream' | 'timeouts'>

/** §4.13.7, §4.14.3: what the body refers to is counted with it, and not its name. */
async function askExpanded(
  path: Path,
  request: FastifyRequest,
  whole: JsonBody,
  { target, ...count }: Omit<Count, 'body'> & { target: Target },
): Promise<InItsWords> {
  const prompt = { body: whole, conversation: undefined }
  const expanded = isExpandable(request, whole)
    ? await path.expansion.expand(count.kind, prompt, { request })
    : undefined
  try {
    const { bytes, json } = expanded?.body ?? whole
    const fields = json as Fields
    const body = target.model === fields.model ? bytes : spliceFields({ bytes, json: fields }, { model: target.model })
    return await ask(path, request, target, { body, ...count })
  } finally {
    expanded?.room.giveBack()
  }
}

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
    if (status === 404 || status === 405)
      throw new Refusal('not_found', `The upstream '${target.provider}' counts no tokens.`)
    if (verdictOn(status, undefined).kind === 'hand_on') throw refused(status, bytes, secret)
    throw failed(target, new Error(`upstream: status ${status}`))
  } catch (error) {
    throw error instanceof UpstreamError ? failed(target, error) : error
  } finally {
    slot.release()
  }
}

const failed = ({ provider }: Target, cause: unknown) =>
  new Refusal('upstream_failed', `The upstream '${provider}' could not count the tokens.`, { cause })

/** The caller's own mistake, in whatever shape it is told: as where the call is made. */
function refused(status: number, body: Buffer, secret: string | undefined): Refusal {
  const words = whatWasRefused(body).reason && wordsOf(body, secret)
  const why = words === undefined ? '.' : `: ${words}`
  return new Refusal('invalid_request', `The upstream refused this request with status ${status}${why}`, {
    by: 'upstream',
  })
}
