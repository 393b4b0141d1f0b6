// The inference path put together: every stage of pipeline.ts with the parts that it needs.
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Waivers } from '../budgets/waiver-store.ts'
import type { Clock } from '../core/clock.ts'
import { traceIdOf } from '../core/ids.ts'
import { maySee } from '../core/maker.ts'
import { Refusal } from '../core/refusal.ts'
import { Stop, type StopSignal } from '../core/stop-signal.ts'
import type { CredentialStore } from '../credentials/credential-store.ts'
import { ignoredHeaders } from '../headers/agent-headers.ts'
import { asRefusal, tellTrouble } from '../http/answers.ts'
import { conflict } from '../idempotency/idempotency.ts'
import { mayNameModel, unknownModel } from '../keys/key-terms.ts'
import type { Allowance } from '../limits/generation-hooks.ts'
import { tokensOnArrival } from '../limits/policy.ts'
import type { CallKind } from '../providers/provider.ts'
import { toldBy } from '../refusals/refused-call.ts'
import type { ResponseStore } from '../responses/response-store.ts'
import type { Db } from '../storage/db.ts'
import { admission } from './admission.ts'
import { affinity } from './affinity.ts'
import type { Opening } from './answer-stream.ts'
import { breakers } from './breaker.ts'
import type { Call } from './call.ts'
import { readCall } from './call-reading.ts'
import { type CallTimer, callTimer } from './call-timer.ts'
import { chainedAnswer } from './chained-answer.ts'
import { type Answer, chooseRoute, type Question } from './choose-route.ts'
import { type Client, ClientLeft, clientOf } from './client.ts'
import { readConversation } from './conversation.ts'
import { type DeferredWrites, isAway } from './deferred-writes.ts'
import { departures } from './departures.ts'
import type { Dialer } from './dialer.ts'
import { type DispatchStages, dispatch } from './dispatch.ts'
import { failedEvent, failedFacts } from './failed-generation.ts'
import { holdFor } from './hold.ts'
import { noneFits } from './no-route.ts'
import { leftBehind } from './own-capacity.ts'
import { generate, type Stages } from './pipeline.ts'
import type { Records } from './records.ts'
import { responsesOverChat } from './responses-over-chat.ts'
import type { Snapshots } from './routing-snapshot.ts'
import { type Bill, bare, type Money, type SettleNeeds, settle } from './settle.ts'
import type { Route, Target } from './target.ts'
import { bodyFor, chatLimitName, headersFor } from './upstream-request.ts'

export interface InferenceNeeds {
  clock: Clock
  snapshots: Snapshots
  dialer: Dialer
  settling: SettleNeeds
  deferred: DeferredWrites
  waivers: Waivers
  records: Records
  credentials: Pick<CredentialStore, 'noteRefused' | 'noteTaken'>
  chainsOn(db: Db): Pick<ResponseStore, 'history' | 'resolved'>
  /** R84: a session that takes no more turns. */
  isClosed(project_id: string, session_id: string): Promise<boolean>
  opening: Opening
}

type Asking = Pick<Call, 'model' | 'trace_id' | 'session_id' | 'caller' | 'hints'>

export type Inference = ReturnType<typeof inference>

export function inference(needs: InferenceNeeds) {
  const { clock, snapshots, dialer, settling, deferred, waivers, records, chainsOn, isClosed, opening } = needs
  const { noteRefused, noteTaken } = needs.credentials
  const { db, slices, idempotencyOn, usageOn } = settling
  const slots = admission(clock)
  const health = breakers(clock)
  const bindings = affinity(clock)
  const left = departures(clock)
  const idempotency = idempotencyOn(db)

  const boundTo = ({ caller, session_id }: Asking) => bindings.targetOf(caller.project_id, session_id)

  const questionOf = (call: Asking): Question => ({
    model: call.model,
    seed: call.trace_id,
    now: clock.now(),
    affine_to: call.hints?.reuse?.preference === 'avoid' ? undefined : boundTo(call),
    breakerAllows: (target_id) => health.state(target_id) !== 'open',
    inFlight: slots.inFlight,
  })

  /** R62: a model that the key may not name is one that does not exist. */
  async function answerTo(call: Asking): Promise<Answer> {
    const snapshot = await snapshots.of(call.caller)
    if (!mayNameModel(call.caller.allowed_models, call.model, snapshot.aliases.has(call.model)))
      return { kind: 'unknown_model' }
    return chooseRoute(questionOf(call), snapshot)
  }

  async function route(call: Call): Promise<Route> {
    const answer = await answerTo(call)
    if (answer.kind === 'route') return answer.route
    if (answer.kind === 'unknown_model') throw unknownModel(call.model, call.caller)
    throw noneFits(call.model, answer.dropped, health.openForMs)
  }

  function settleLater(bill: Bill): () => Promise<Money> {
    const { hold } = bill.got
    const reservation = bill.together?.reservation
    return () =>
      settle(settling, bill).catch(async (error) => {
        if (isAway(error)) throw error
        // What can never be written, because another process has taken over meanwhile, must not stay held either.
        await Promise.allSettled([
          hold && deferred.surely(() => slices.release(hold)),
          reservation && deferred.surely(() => idempotency.release(reservation)),
        ])
        throw error
      })
  }

  const secretFor = ({ caller }: Call, target: Target) => dialer.secretFor(target, caller.project_id)

  const dispatching: DispatchStages = {
    now: clock.now,
    opening,
    admit: (call, target, signal) => slots.admit(admissionOf(call, target, signal)),
    hold: (call, target) => holdFor(call, target, { slices, deferred }, clock.now()),
    release: async (hold) => void (await deferred.surely(() => slices.release(hold))),
    async providerFor(call, target) {
      const { caller, kind, conversation } = call
      const provider = await dialer.providerFor(target, caller.project_id)
      if (!provider.speaks(kind)) {
        if (conversation) return responsesOverChat(provider, conversation, chatLimitName(target))
        throw notSpoken(call, target)
      }
      const continued = conversation?.request.previous_response_id ?? null
      return continued === null ? provider : chainedAnswer(provider, continued)
    },
    bodyFor,
    headersFor,
    secretFor,
    breakers: health,
    async noteCredential({ caller: { project_id } }, credential_id, is_refused) {
      const note = is_refused ? noteRefused : noteTaken
      await deferred.surely(() => note(project_id, credential_id))
    },
    async noteFailed(call, route, failed) {
      left.note(call.caller.project_id, leftBehind(route, failed), failed.target.id)
      const event = failedEvent(call, route, failed, clock.now())
      await deferred.surely(() => usageOn(db).insert(event, failedFacts(call, failed)))
    },
  }

  const stagesFor = (request: FastifyRequest, allowance: Allowance, timer: CallTimer): Stages => ({
    chooseRoute: route,
    async reserve({ caller, model }) {
      const { keyed } = request
      if (!keyed) return undefined
      const { aliases } = await snapshots.of(caller)
      const asked = { key_id: caller.key_id, model, is_alias: aliases.has(model) }
      const outcome = await idempotency.reserve({ ...keyed, asked }, clock.now())
      if (outcome.kind !== 'taken') throw conflict()
      return outcome.reservation
    },
    release: async (reservation) => void (await deferred.surely(() => idempotency.release(reservation))),
    async dispatch(call, chosen, signal) {
      const got = await dispatch(call, chosen, dispatching, signal)
      got.is_affine = boundTo(call) === got.target.id
      bindings.remember(call.caller.project_id, call.session_id, got.target.id)
      left.note(call.caller.project_id, leftBehind(chosen, got), got.target.id)
      return got
    },
    ...records,
    settle(call, got, produced, together) {
      allowance.used(produced.tokens.input + produced.tokens.output)
      return deferred.atOnce(() => settle(settling, { call, got, produced, together }))
    },
    settleDelivered(call, got, produced, together) {
      allowance.used(produced.tokens.input + produced.tokens.output)
      return deferred.surely(settleLater(bare({ call, got, produced, together })))
    },
    timer,
    mayWaive: ({ caller }, micros) => waivers.mayHave(caller.project_id, micros, clock.now()),
    async waive({ caller }, micros) {
      return waivers.take(caller.project_id, micros, clock.now()).catch((error) => {
        if (!isAway(error)) tellTrouble(asRefusal(error), error, request)
        return false
      })
    },
    tellOperator: (refusal) => tellTrouble(refusal, refusal, request),
    noteRefused: (refusal, told) => request.noteRefused(refusal, told),
    secretFor,
    giveBack: async ({ hold }) => void (hold && (await deferred.surely(() => slices.release(hold)))),
  })

  const readerFor =
    ({ caller, route }: FastifyRequest) =>
    (json: unknown) =>
      readConversation(json, chainsOn(db), {
        surface: route.url?.startsWith('/v2') ? 'v2' : 'v1',
        project_id: caller.project_id,
        now: clock.now(),
        mayUse: (maker) => maySee(caller, maker),
      })

  /** Those under way: a keyed one goes on after its client has left, so no connection tells of it. */
  let running = 0
  let onIdle: (() => void) | undefined

  async function run(kind: CallKind, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const call = await readCall({
      kind,
      request,
      readConversation: readerFor(request),
      isClosed: (session_id) => isClosed(request.caller.project_id, session_id),
    })
    // §8.1.2, R24: a replay was given before this, so it costs no tokens and no stream.
    const allowance = await request.allowGeneration(reply, { tokens: tokensOnArrival(call), stream: call.stream })
    const stop = new Stop()
    // R26: a keyed generation is finished and kept, so that the retry replays it; any other ends with its client.
    const timer = callTimer(call, stop, clock)
    const client = clientOf(reply, kind, () => request.keyed ?? timer.clientLeft())
    reply.headers({ 'agent-trace-id': call.trace_id, ...ignoredHeaders(call.ignored_fields) })
    try {
      await generate(call, client, stagesFor(request, allowance, timer), stop)
    } catch (error) {
      tell(client, error, request)
    } finally {
      timer.clear()
      await allowance.end()
    }
  }

  return {
    async run(...call: Parameters<typeof run>): Promise<void> {
      running++
      try {
        await run(...call)
      } finally {
        if (--running === 0) onIdle?.()
      }
    },

    /** Resolves once nothing is being generated, for whoever has stopped new calls from coming. */
    finished: (): Promise<void> =>
      running === 0
        ? Promise.resolve()
        : new Promise((resolve) => {
            onIdle = resolve
          }),

    /** Targets that this process leaves alone, because they failed. */
    leftAlone: health.notClosed,

    /** R73: which calls left a project's own capacity. */
    departuresOf: left.of,

    /** What would happen, without calling anyone. */
    explain: answerTo,
  }
}

/** Before the first byte, the error handler answers; after it, only an error event can (R47). */
function tell(client: Client, error: unknown, request: FastifyRequest): void {
  if (error instanceof ClientLeft) {
    client.forget()
    return
  }
  if (!client.hasBegun()) throw error
  const refusal = asRefusal(error as FastifyError)
  tellTrouble(refusal, error as Error, request)
  request.noteRefused(refusal, toldBy(refusal, { 'agent-trace-id': traceIdOf(request.id) }))
  client.fail(refusal)
}

/** Said before anything is sent: the upstream would only complain of fields that its own protocol wants. */
const notSpoken = ({ endpoint, model }: Call, { provider }: Target) =>
  new Refusal(
    'invalid_request',
    `'${model}' cannot be asked on ${endpoint}: the protocol of its provider '${provider}' has no such endpoint.`,
  )

function admissionOf(call: Call, target: Target, signal: StopSignal) {
  const { hints, caller, received_at, deadline_at } = call
  const target_ttft_ms = hints?.qos?.target_ttft_ms
  return {
    target_id: target.id,
    max_concurrency: target.dialling.max_concurrency,
    class: hints?.qos?.class ?? 'standard',
    project_id: caller.project_id,
    key_id: caller.key_id,
    input_tokens_est: call.input_estimate,
    body_bytes: call.body.length,
    arrived_at: received_at,
    ...(target_ttft_ms !== undefined && { start_by: received_at + target_ttft_ms }),
    ...(deadline_at !== undefined && { deadline_at }),
    signal,
  }
}
