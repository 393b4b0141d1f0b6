// The path of one generation (§1, §8.1, §10, §11), step by step: read, allow, route, reserve, ask, answer, settle. Each
// step is a plain function over the Generation; the promise that it keeps stands beside it.
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { traceIdOf } from '../core/ids.ts'
import { maySee } from '../core/maker.ts'
import { Refusal } from '../core/refusal.ts'
import { ignoredHeaders } from '../headers/agent-headers.ts'
import { asRefusal, tellTrouble } from '../http/answers.ts'
import { conflict, erased } from '../idempotency/idempotency.ts'
import { tokensOnArrival } from '../limits/policy.ts'
import type { CallKind } from '../providers/provider.ts'
import { toldBy } from '../refusals/refused-call.ts'
import { readConversation } from '../responses/conversation.ts'
import type { Call } from './call.ts'
import { readCall } from './call-reading.ts'
import { ClientLeft } from './client.ts'
import { aboutOf } from './failed-attempt.ts'
import { firstAnswer } from './first-answer.ts'
import { Generation } from './generation.ts'
import type { Path } from './path.ts'
import { endAtRoute } from './planned-call.ts'
import { targetMetSoFar } from './qos.ts'
import { beginRecording, endRecording } from './recorded.ts'
import { routeFor } from './route-for.ts'
import { sendSpooled } from './send-spooled.ts'
import { sendStream } from './send-stream.ts'
import { sendUpstreamRefusal, sendWhole } from './send-whole.ts'
import { keptToVendor } from './signed-thinking.ts'
import { giveBackContents, takeContents } from './turn-contents.ts'

/** An upstream's whole answer, or its stream, or a refusal in the envelope: something always answers. */
export async function generate(path: Path, kind: CallKind, request: FastifyRequest, reply: FastifyReply) {
  const { traced } = request
  traced?.stage('body')
  const call = await callIn(path, kind, request, reply) //        §10.1: hints, session, deadline
  traced?.stage('read')
  // §8.1.2, R24: a replay was given before this, so it costs no tokens and no stream.
  const { stream, model } = call
  const allowance = await request.allowGeneration(reply, { tokens: tokensOnArrival(call), stream, model })
  traced?.stage('allow')
  try {
    if (!call.is_replay) path.live.came(request.received_at)
    const turn = path.turns.next(call.caller.project_id) //       R78: no project before another
    if (turn) await turn
    call.expansion_room?.keep()
    await generateAllowed(new Generation(path, call, { request, reply, allowance }), reply)
  } finally {
    await allowance.end()
  }
}

/** What it takes on its way is given back here, however it ends. */
async function generateAllowed(generation: Generation, reply: FastifyReply): Promise<void> {
  const { path, call, request } = generation
  const { traced } = request
  if (call.caller.records) beginRecording(generation)
  call.media?.begin()
  if (call.conversation?.background) path.jobs.begun(request, generation.timer)
  reply.headers({ 'agent-trace-id': call.trace_id, ...ignoredHeaders(call.ignored_fields) })
  try {
    if (call.is_keyed) keepBody(generation, reply) //              R26: held longer than its client stays
    const taking = takeContents(generation) //                     R78: before anything is done for it
    if (taking) await taking
    generation.only = path.only.of(request)
    generation.route = await routeFor(path, call, generation.only?.release) // R40: alias, own, managed
    traced?.stage('route')
    if (call.signed_at !== undefined) keepToVendor(generation) // R81: nobody else can read it
    if (generation.only) generation.route = generation.only.narrowed(generation.route)
    if (generation.only?.onRouted) return endAtRoute(generation)
    await reserve(generation) //                                  §11: durable before anything is dialled; else 409
    await answer(generation) //                                   R43, R47, R41, R42: charged once, told truly
  } catch (error) {
    await giveBack(generation, error)
    tell(generation, error)
  } finally {
    generation.slot?.release()
    path.placing.ended(generation.prefill)
    generation.timer.clear()
    if (generation.client.tape) endRecording(generation)
    call.media?.close()
    call.expansion_room?.giveBack()
    giveBackContents(generation)
    generation.held.giveBack()
    if (request.keeps_body) request.body_place?.giveBack()
  }
}

/** Its place in memory is this generation's from here on; where it went with the client, another is taken. */
function keepBody({ request, held, call }: Generation, { raw }: FastifyReply): void {
  if (raw.destroyed) held.take(call.body.length)
  else request.keeps_body = true
}

export const COMPACT = '/v1/responses/compact'

function keepToVendor(generation: Generation): void {
  const { path, call, route } = generation
  generation.route = keptToVendor(route, call, path.affinity.targetOf(call.caller.project_id, call.session_id))
}

async function callIn(path: Path, kind: CallKind, request: FastifyRequest, reply: FastifyReply): Promise<Call> {
  const { caller, route } = request
  if (kind === 'responses') await path.chains.assertMayContinue(request, reply)
  const call = await readCall({
    kind,
    request,
    isClosed: (session_id) => path.isClosed(caller.project_id, session_id),
    expand: (asked, prompt) => path.expansion.expand(asked, prompt, { request, reply }),
    readConversation: (json) =>
      readConversation(json, path.responses, {
        surface: route.url?.startsWith('/v2') ? 'v2' : 'v1',
        project_id: caller.project_id,
        now: path.clock.now(),
        mayUse: (maker) => maySee(caller, maker),
        compacts: route.url === COMPACT,
        promised: path.jobs.of(request)?.response_id,
      }),
  })
  if (kind === 'responses') path.chains.note(call, request)
  return call
}

async function reserve(generation: Generation): Promise<void> {
  const { path, call, request } = generation
  const { keyed } = request
  if (!keyed) return
  const { caller, model } = call
  const { aliases } = await path.snapshots.of(caller)
  const asked = { key_id: caller.key_id, model, is_alias: aliases.has(model) }
  const outcome = await path.idempotency.reserve({ ...keyed, asked }, path.clock.now())
  if (outcome.kind !== 'taken') throw outcome.kind === 'erased' ? erased() : conflict()
  generation.reservation = outcome.reservation
  request.traced?.stage('reserve')
}

async function answer(generation: Generation): Promise<void> {
  const answered = await firstAnswer(generation)
  const turn = generation.path.turns.next(generation.call.caller.project_id)
  if (turn) await turn
  if (answered.kind === 'client_error') return sendUpstreamRefusal(generation, answered)
  const { call, target, path, is_affine } = generation
  if (call.hints?.reuse) {
    const standing = generation.route.placing?.standings.find(({ target_id }) => target_id === target.id)
    generation.reuse = path.prompts.believe(call, target, is_affine, standing?.held_tokens)
  }
  if (answered.kind === 'whole') return sendWhole(generation, answered)
  if (answered.kind === 'spooled') return sendSpooled(generation, answered)
  generation.is_target_open = targetMetSoFar(call.hints, generation) === 'unknown'
  return sendStream(generation, answered.stream)
}

/** Whatever it still holds. What was settled is not touched by this. */
async function giveBack(generation: Generation, error: unknown): Promise<void> {
  const { target, attempts, request } = generation
  if (target && error instanceof Refusal) error.about ??= { attempts, ...aboutOf(target) }
  generation.slot?.release()
  const given = await Promise.allSettled([generation.giveBackHold(), generation.giveBackKey()])
  for (const one of given)
    if (one.status === 'rejected') request.log.error({ err: one.reason }, 'what a call had taken was not given back')
}

/** Before the first byte, the error handler answers; after it, only an error event can (R47). */
function tell({ client, request }: Generation, error: unknown): void {
  if (error instanceof ClientLeft) {
    client.forget()
    return
  }
  if (!client.has_begun) throw error
  const refusal = asRefusal(error as FastifyError)
  tellTrouble(refusal, error as Error, request)
  request.noteRefused(refusal, toldBy(refusal, { 'agent-trace-id': traceIdOf(request.id) }))
  client.fail(refusal)
}
