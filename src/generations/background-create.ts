// `background: true` on /v1/responses: the response is promised at once, and made later. What it needs is in the store
// before it is promised, with the kept answer of a keyed request in the same transaction (R21).
import type { FastifyRequest } from 'fastify'
import type { Clock } from '../core/clock.ts'
import { newId, randomBase62 } from '../core/ids.ts'
import type { JsonBody } from '../core/json-bytes.ts'
import { spliceFields } from '../core/json-splice.ts'
import { makerOf } from '../core/maker.ts'
import { Refusal } from '../core/refusal.ts'
import type { Sealing } from '../core/sealing.ts'
import { ignoredHeaders } from '../headers/agent-headers.ts'
import { tagsOf } from '../headers/call-tags.ts'
import { JSON_TYPE } from '../http/answers.ts'
import { type Asked, conflict, erased, type KeptResponse } from '../idempotency/idempotency.ts'
import type { IdempotencyStore } from '../idempotency/idempotency-store.ts'
import { mayNameModel, unknownModel } from '../keys/key-terms.ts'
import { assertRoom, BODY_MAX_BYTES, queuedResponse } from '../responses/background-response.ts'
import { type BackgroundRow, backgroundStore } from '../responses/background-store.ts'
import { type Json, readResponseRequest, wrong } from '../responses/response-request.ts'
import type { Db, OpenDb } from '../storage/db.ts'
import { hintsOf } from './call-reading.ts'
import { checkMoneyFields } from './money-fields.ts'
import type { Path } from './path.ts'

/** What a client says beside its body, and a run says again. */
const CARRIED = /^(agent-(?!idempotency-key)|x-session-id$|x-claude-code-|x-dynamo-session-id$|thread-id$)/

export interface CreateNeeds {
  db: OpenDb
  clock: Clock
  seals: Sealing
  idempotencyOn(db: Db): IdempotencyStore
}

type Work = Omit<BackgroundRow, 'status' | 'attempts'>

/** The response as it is promised, or as it was promised before. */
export async function createBackground(path: Path, needs: CreateNeeds, request: FastifyRequest): Promise<KeptResponse> {
  const { db, clock, seals, idempotencyOn } = needs
  const { keyed, caller } = request
  const { work, asked } = await workOf(path, request, clock.now())
  const body = Buffer.from(JSON.stringify(work.response))
  const ignored: string[] = []
  await hintsOf(request, ignored) // R75: told now, since the answer of the run goes to nobody
  const headers = { 'content-type': JSON_TYPE, ...ignoredHeaders(ignored) }
  const answer: KeptResponse = { status: 200, headers, body, asked, promised: work.id }
  return db.transaction(async (tx) => {
    const kept = keyed && idempotencyOn(tx)
    if (keyed && kept) {
      if (!(await tx.tryLock(keyed.digest))) throw conflict()
      const { kind } = await kept.find(keyed, clock.now())
      if (kind !== 'free') throw kind === 'erased' ? erased() : conflict()
    }
    const store = backgroundStore(tx, seals)
    assertRoom(await store.takenBy(caller.project_id, clock.now()))
    await store.insert(work, clock.now())
    if (keyed && kept && !(await kept.keepAtOnce(keyed, answer, clock.now()))) throw conflict()
    return answer
  })
}

async function workOf(path: Path, request: FastifyRequest, now: number): Promise<{ work: Work; asked: Asked }> {
  const { caller, headers, keyed } = request
  const { bytes, json } = request.body as JsonBody & { json: Json }
  if (bytes.length > BODY_MAX_BYTES)
    throw new Refusal('body_too_large', `With 'background': true a body has at most ${BODY_MAX_BYTES} bytes.`)
  checkMoneyFields({ bytes, json }, 'responses')
  const asked = readResponseRequest({ ...json, background: false }, 'v1')
  if (asked.stream && keyed)
    throw wrong('stream', "not be true with 'background' and an idempotency key: read its events with GET")
  tagsOf(headers['agent-tags'], json) // a budget may hang on them: what cannot be read is refused
  const is_alias = await isNameableAlias(path, request, asked.model)
  await path.responses.mayStore(caller.project_id, now)
  const ids = { response_id: newId('resp'), created_at_s: Math.floor(now / 1_000) }
  const carried = Object.entries(headers).filter(([name, value]) => CARRIED.test(name) && typeof value === 'string')
  const work: Work = {
    id: ids.response_id,
    project_id: caller.project_id,
    key_id: caller.key_id,
    ...makerOf(caller),
    response: queuedResponse(asked, ids),
    work: {
      headers: Object.fromEntries(carried) as Record<string, string>,
      body: spliceFields({ bytes, json }, { background: false, stream: true }).toString('utf8'),
      run_key: `background:${randomBase62(43)}`,
    },
  }
  return { work, asked: { key_id: caller.key_id, model: asked.model, is_alias } }
}

/** Whether it is an alias. What cannot be run at all is told now, and not when somebody looks. */
async function isNameableAlias(path: Path, { caller }: FastifyRequest, model: string): Promise<boolean> {
  const { aliases } = await path.snapshots.of(caller)
  const is_alias = aliases.has(model)
  if (!mayNameModel(caller.allowed_models, model, is_alias)) throw unknownModel(model, caller)
  return is_alias
}
