// §11: every POST gets this without asking. Before the body is read, a kept answer is replayed or a running request
// reported (R24). Then the handler runs inside one transaction with the keeping of its answer (R21): both
// happen or neither does, so a crash leaves nothing to repeat and nothing to reclaim.
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import type { Caller } from '../core/caller.ts'
import type { Clock } from '../core/clock.ts'
import { IGNORED_FIELDS_HEADER } from '../headers/ignored-fields.ts'
import { JSON_TYPE } from '../http/answers.ts'
import { headerValues } from '../http/routes.ts'
import { endWhereStalled } from '../http/unread-answers.ts'
import { mayNameModel, unknownModel } from '../keys/key-terms.ts'
import type { KeptQuota } from '../limits/kept-quota.ts'
import { CommitUnknown, type Db } from '../storage/db.ts'
import {
  clientsKey,
  conflict,
  digest,
  erased,
  idempotencyKey,
  KEY_HEADER,
  type KeptResponse,
  type KeyedRequest,
  mayKeep,
  REPLAY_HEADER,
} from './idempotency.ts'
import type { Found, IdempotencyStore } from './idempotency-store.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set where the request carries a usable Agent-Idempotency-Key. */
    keyed: KeyedRequest | undefined
  }
  interface FastifyContextConfig {
    /**
     * 'outside': the effect lies outside the database, so the triple is reserved around it instead of within a
     * transaction. 'own': the route reserves, keeps and releases by itself.
     */
    idempotency?: 'outside' | 'own'
  }
}

type KeptFound = Extract<Found, { kind: 'kept' }>

interface Needs {
  db: Db
  clock: Clock
  storeOn(db: Db): IdempotencyStore
  /** Only replay runs ask here. */
  is_of_runs?: true
  /** R78: refuses what could not be kept, before anything is done for it. */
  quota: Pick<KeptQuota, 'check'>
}

export function makePostsIdempotent(app: FastifyInstance, needs: Needs): void {
  const running = new Set<string>() // digests of this process; other replicas are kept out by the transaction's lock
  const lookUp = lookUpFirst(needs, running)
  app.decorateRequest('keyed', undefined)
  app.addHook('onRoute', (route) => {
    if (route.method !== 'POST' || route.config?.public) return
    route.preParsing = [lookUp, ...[route.preParsing ?? []].flat()]
    const { idempotency } = route.config ?? {}
    if (idempotency === 'outside') route.handler = reservedAround(route.handler, needs)
    else if (idempotency !== 'own') route.handler = atMostOnce(route.handler, needs, running)
  })
}

function lookUpFirst({ db, clock, storeOn, quota, is_of_runs }: Needs, running: ReadonlySet<string>) {
  const store = storeOn(db)
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> => {
    const key = idempotencyKey(headerValues(request.raw.rawHeaders, KEY_HEADER))
    if (key === undefined) return undefined
    reply.header(REPLAY_HEADER, 'false')
    const { url: route = '' } = request.route
    const params = request.params as Record<string, string>
    const { project_id, key_id } = request.caller
    const triple = { project_id, route, params, key: is_of_runs ? key : clientsKey(key) }
    const keyed = { key, project_id, key_id, digest: digest(triple) }
    if (running.has(keyed.digest)) throw conflict()
    const found = await store.find(keyed, clock.now())
    if (found.kind === 'held') throw conflict()
    if (found.kind === 'erased') throw erased()
    if (found.kind === 'kept') {
      refuseForbidden(found.response, request.caller)
      return found.large ? sendLarge(reply, found) : send(reply, found.response, true)
    }
    await quota.check(project_id, clock.now())
    request.keyed = keyed
    return undefined
  }
}

/** R62: an answer of a model that this key may not name is told to it as little as a fresh one. */
function refuseForbidden({ asked }: KeptResponse, caller: Caller): void {
  if (!asked || asked.key_id === caller.key_id) return
  if (!mayNameModel(caller.allowed_models, asked.model, asked.is_alias)) throw unknownModel(asked.model, caller)
}

function atMostOnce(handler: RouteHandlerMethod, needs: Needs, running: Set<string>): RouteHandlerMethod {
  return async function (request, reply) {
    const { keyed } = request
    if (!keyed) return handler.call(this, request, reply)
    if (running.has(keyed.digest)) throw conflict()
    running.add(keyed.digest)
    try {
      const execute = async () => answer(reply, await handler.call(this, request, reply))
      const { response, replayed } = await executeAndKeep(request, keyed, execute, needs)
      return send(reply, response, replayed)
    } finally {
      running.delete(keyed.digest)
    }
  }
}

/** For effects outside the database: reserve durably, act, keep. A crash in between is reclaimed after 60 s (R22). */
function reservedAround(handler: RouteHandlerMethod, { db, clock, storeOn }: Needs): RouteHandlerMethod {
  const store = storeOn(db)
  return async function (request, reply) {
    const { keyed } = request
    if (!keyed) return handler.call(this, request, reply)
    const outcome = await store.reserve(keyed, clock.now())
    if (outcome.kind === 'kept') return send(reply, outcome.response, true)
    if (outcome.kind === 'erased') throw erased()
    if (outcome.kind !== 'taken') throw conflict()
    try {
      const response = answer(reply, await handler.call(this, request, reply))
      if (!(await store.keep(outcome.reservation, response, clock.now()))) throw conflict()
      return send(reply, response, false)
    } catch (error) {
      await store.release(outcome.reservation)
      throw error
    } finally {
      store.ended(outcome.reservation)
    }
  }
}

type Outcome = { response: KeptResponse; replayed: boolean }

async function executeAndKeep(
  request: FastifyRequest,
  keyed: KeyedRequest,
  execute: () => Promise<KeptResponse>,
  { db, clock, storeOn }: Needs,
): Promise<Outcome> {
  try {
    return await db.transaction(async (tx) => {
      if (!(await tx.tryLock(keyed.digest))) throw conflict()
      const store = storeOn(tx)
      const found = await store.find(keyed, clock.now())
      if (found.kind === 'held') throw conflict()
      if (found.kind === 'erased') throw erased()
      if (found.kind === 'kept') return { response: found.response, replayed: true }
      request.db = tx
      const response = await execute()
      if (mayKeep(response.status) && !(await store.keepAtOnce(keyed, response, clock.now()))) throw conflict()
      return { response, replayed: false }
    })
  } catch (error) {
    if (!(error instanceof CommitUnknown)) throw error
    // T-104: the answer is there exactly if the effect is.
    const found = await storeOn(db).find(keyed, clock.now())
    if (found.kind === 'kept') return { response: found.response, replayed: false }
    throw error
  }
}

/** R27: serialised once; these bytes are sent, sealed and replayed. */
function answer(reply: FastifyReply, result: unknown): KeptResponse {
  const ignored = reply.getHeader(IGNORED_FIELDS_HEADER) // R25, R75
  return {
    status: reply.statusCode,
    headers: { 'content-type': JSON_TYPE, ...(ignored !== undefined && { [IGNORED_FIELDS_HEADER]: String(ignored) }) },
    body: Buffer.from(reply.serialize(result) as string),
  }
}

/** A replay that is too much to be held at once. */
function sendLarge(reply: FastifyReply, { response, large, large_bytes = 0 }: KeptFound): FastifyReply {
  const { status, headers, body } = response
  const told = { ...headers, [REPLAY_HEADER]: 'true', 'content-length': String(large_bytes + body.length) }
  endWhereStalled(reply.raw)
  return reply
    .code(status)
    .headers(told)
    .send(Readable.from(all(), { objectMode: false }))

  async function* all(): AsyncGenerator<Buffer> {
    if (large) yield* large
    if (body.length > 0) yield body
  }
}

function send(reply: FastifyReply, { status, headers, body }: KeptResponse, replayed: boolean): FastifyReply {
  return reply.code(status).headers(headers).header(REPLAY_HEADER, String(replayed)).send(body)
}
