// Calls that replay runs make: each goes the whole way of a call, from its body to its charge, in a service of its own
// that listens nowhere and has no limits of rates. They are background, leave no trace in sessions, affinity and reuse,
// and carry an idempotency key, which is what makes them happen once.
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import { saidAnswer } from '../answers/said-answer.ts'
import type { Clock } from '../core/clock.ts'
import { randomBase62 } from '../core/ids.ts'
import { jsonOrNone } from '../core/json-bytes.ts'
import { Refusal } from '../core/refusal.ts'
import type { Sealing } from '../core/sealing.ts'
import { buildFastify } from '../http/fastify.ts'
import { KEY_HEADER } from '../idempotency/idempotency.ts'
import { makePostsIdempotent } from '../idempotency/idempotency-hooks.ts'
import type { IdempotencyStore } from '../idempotency/idempotency-store.ts'
import type { CallKind } from '../providers/provider.ts'
import type { AnsweredCall, CallAgain, PlannedCall, ReplayCalls } from '../replays/replayed-call.ts'
import type { Gateway } from '../routing/gateway.ts'
import type { Db } from '../storage/db.ts'
import { chargeFor, worstCost } from './charge.ts'
import { refuseUnpriced } from './hold.ts'
import { messagesRoutes } from './messages-routes.ts'
import { ONLY_HEADER, type Only, type OnlyCalls, type Routed } from './only-target.ts'
import { responseRoutes } from './response-routes.ts'
import type { Generations } from './running.ts'
import { v1Routes } from './v1-routes.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** A call that a replay run makes. */
    is_replay?: true
  }
}

const KINDS: Readonly<Record<string, CallKind>> = {
  '/v1/chat/completions': 'chat',
  '/v1/completions': 'completions',
  '/v1/responses': 'responses',
  '/v2/responses': 'responses',
  '/anthropic/v1/messages': 'messages',
}

export interface ReplayedCallsNeeds {
  db: Db
  clock: Clock
  logger: FastifyBaseLogger
  seals: Sealing
  gateway: Gateway
  path: Generations
  only: OnlyCalls
  idempotencyOn(db: Db): IdempotencyStore
}

export function replayedCalls(needs: ReplayedCallsNeeds): ReplayCalls {
  const { only } = needs
  let inner: ReturnType<typeof innerService> | undefined

  /** `headers` beside those that every call has. */
  async function send(call: CallAgain, asked: Partial<Only>, headers: Readonly<Record<string, string>>) {
    inner ??= innerService(needs)
    const app = await inner
    const name = randomBase62(32)
    const target_id = call.cluster_id === undefined ? undefined : `cluster:${call.cluster_id}`
    const { records: _records, ...who } = call.caller // what is answered is kept with the run
    const caller = { ...who, scopes: ['admin'] as const } // whoever made the run could see what it refers to
    only.add(name, { target_id, most_micros: undefined, caller, release: call.release ?? undefined, ...asked })
    try {
      const payload = call.body
      const own = { ...HEADERS, ...(call.bundle_id && { 'agent-bundle': call.bundle_id }), [ONLY_HEADER]: name }
      return await app.inject({ method: 'POST', url: call.endpoint, headers: { ...own, ...headers }, payload })
    } finally {
      only.remove(name)
    }
  }

  return {
    isCompared: (endpoint) => Object.hasOwn(KINDS, endpoint),

    async plan(call): Promise<PlannedCall> {
      let planned: PlannedCall | undefined
      const onRouted = (routed: Routed) => {
        planned = plannedCall(routed)
      }
      const { payload } = await send(call, { onRouted }, {})
      return planned ?? { kind: 'refused', message: told(payload).message ?? 'It could not be planned.' }
    },

    async run(call, key): Promise<AnsweredCall> {
      const { statusCode: status, headers, rawPayload } = await send(call, {}, { [KEY_HEADER]: key })
      const { type } = status < 300 ? NOTHING_TOLD : told(rawPayload.toString())
      const named = headers['agent-trace-id']
      const trace_id = typeof named === 'string' ? named : null
      // Anthropic's protocol has no word of its own for a budget that is used up.
      const is_quota = status === 429 && headers['x-should-retry'] === 'false'
      return {
        status,
        type: is_quota ? 'quota_exceeded' : type,
        message: status < 300 ? null : `It was answered ${status}${type === null ? '' : ` ${type}`}.`,
        trace_id,
        body: rawPayload,
      }
    },

    said: (endpoint, is_stream, answer) =>
      saidAnswer(
        KINDS[endpoint] ?? 'chat',
        is_stream,
        Buffer.from(answer.buffer, answer.byteOffset, answer.byteLength),
      ),

    async close() {
      await (await inner)?.close()
    },
  }
}

const BACKGROUND = Buffer.from(JSON.stringify({ qos: { class: 'background' } })).toString('base64url')
const HEADERS = {
  'content-type': 'application/json',
  'agent-hints': BACKGROUND,
  'anthropic-version': '2023-06-01', // of Messages; no other protocol looks
}

/** The routes of all generations, with nothing before them but whose call it is and whether it was made before. */
async function innerService({ db, clock, logger, seals, gateway, path, only, idempotencyOn }: ReplayedCallsNeeds) {
  const app = buildFastify(logger, { clock })
  app.decorateRequest('caller')
  app.decorateRequest('db')
  app.decorateRequest('received_at', 0)
  app.decorateRequest('is_replay', true)
  app.decorateRequest('noteRefused', () => {})
  app.decorateRequest('allowGeneration', async () => UNLIMITED)
  app.addHook('onRequest', (request: FastifyRequest, _reply: FastifyReply, done) => {
    const caller = only.callerOf(request)
    if (!caller) return done(new Refusal('invalid_api_key', 'Nobody is calling.'))
    Object.assign(request, { caller, db, received_at: clock.now() })
    done()
  })
  makePostsIdempotent(app, { db, clock, storeOn: idempotencyOn, is_of_runs: true, quota: { check: async () => {} } })
  await app.register(v1Routes, { path })
  await app.register(messagesRoutes, { path })
  await app.register(responseRoutes, { path, seals, gateway })
  await app.ready()
  return app
}

/** Rates are for those who call; what a run may do at once, and for how much, is said when it is executed. */
const UNLIMITED = { used: () => {}, end: async () => {} }

/** Throws what the call would be refused with. */
function plannedCall({ call, route, heldBy }: Routed): PlannedCall {
  const [target] = route.candidates
  if (!target) return { kind: 'refused', message: nowhere(route.dropped) }
  refuseUnpriced(call, target)
  const { id, provider, model, profile } = target
  return {
    ...{ kind: 'route', target: id, provider, model, profile },
    high_micros: worstCost(call, target),
    costOf: ({ input_tokens: input, cached_tokens: cached, written_tokens: written, output_tokens: output }) =>
      chargeFor(target, { input, cached, written, output, reasoning: 0, estimated: false }, 0).cost_micros,
    held_tokens: heldBy(target),
  }
}

function nowhere(dropped: Routed['route']['dropped']): string {
  if (dropped.length === 0) return 'The cluster that is to be asked does not serve this model.'
  const reasons = dropped.map(({ target, reason }) => `${target}: ${reason}`)
  return `The cluster that is to be asked cannot take it (${reasons.join('; ')}).`
}

const NOTHING_TOLD = { type: null, message: null }

/** In either protocol's envelope. */
function told(payload: string): { type: string | null; message: string | null } {
  const { error } = (jsonOrNone(payload) ?? {}) as { error?: { type?: unknown; message?: unknown } }
  const text = (value: unknown) => (typeof value === 'string' ? value : null)
  return { type: text(error?.type), message: text(error?.message) }
}
