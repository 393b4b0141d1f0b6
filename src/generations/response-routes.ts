// /v1/responses and its native form /v2/responses: generate, read back, delete.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Caller } from '../core/caller.ts'
import type { JsonBody } from '../core/json-bytes.ts'
import { madeByAnother, maySee } from '../core/maker.ts'
import { Refusal } from '../core/refusal.ts'
import type { Sealing } from '../core/sealing.ts'
import { listOf } from '../core/shapes.ts'
import { wholeNumber } from '../core/text-values.ts'
import { found, list, type Routes } from '../http/routes.ts'
import { askedItems, asksForBackground } from '../responses/background-response.ts'
import { type BackgroundRow, backgroundStore } from '../responses/background-store.ts'
import { Attempt } from '../responses/native-response.ts'
import { readItemsPage } from '../responses/response-items.ts'
import { isResponseId } from '../responses/response-request.ts'
import { inputItems, type KeptResponse, responseStore } from '../responses/response-store.ts'
import type { Gateway } from '../routing/gateway.ts'
import type { Db } from '../storage/db.ts'
import type { CreateNeeds } from './background-create.ts'
import { backgroundFollowers } from './background-follow.ts'
import { GENERATION_MAX_BYTES, takeBodiesAsBytes } from './byte-bodies.ts'
import { COMPACT } from './generate.ts'
import {
  Compaction,
  InputTokens,
  NativeResponse,
  RESPONSE_EVENTS,
  Response,
  whole,
  wholeOrStreamed,
} from './generation-shapes.ts'
import {
  DeletedResponse,
  EVENT_NUMBERS,
  FollowQuery,
  InputItems,
  ItemsQuery,
  ResponseRequest,
  StoredResponse,
} from './response-shapes.ts'
import type { Generations } from './running.ts'

const Params = Type.Object({ response_id: Type.String({ description: 'Begins `resp_`.' }) })
const generating = { scope: 'inference', class: 'inference', idempotency: 'own' } as const
/** Free, and the same however often it is asked: there is nothing to keep. */
const counting = { scope: 'inference', class: 'read', idempotency: 'own' } as const
const manage = { scope: 'inference', class: 'read' } as const
const watch = { scope: 'read', class: 'read' } as const
const tags = ['Responses']

export interface ResponseNeeds {
  path: Generations
  seals: Sealing
  gateway: Pick<Gateway, 'full_fidelity'>
  /** Undefined where every response is waited for. */
  background?: CreateNeeds
}

export const responseRoutes: Routes<ResponseNeeds> = async (app, needs) => {
  const { path, seals, gateway, background } = needs
  const storeOn = (db: Db) => responseStore(db, seals)
  const jobsOn = (db: Db) => backgroundStore(db, seals)
  const follow = backgroundFollowers()

  /** R74: there, for this caller to see, and promised; undefined where nobody promised it. */
  async function promised(db: Db, caller: Caller, id: string): Promise<BackgroundRow | undefined> {
    const row = isResponseId(id) ? await jobsOn(db).find(caller.project_id, id) : undefined
    if (row && !maySee(caller, row)) throw madeByAnother(`The response '${id}'`)
    return row
  }

  /** What was made is told as it was kept; what was not, as far as it is. */
  async function made(
    db: Db,
    caller: Caller,
    id: string,
  ): Promise<Pick<KeptResponse, 'response' | 'input' | 'native'>> {
    const row = await promised(db, caller, id)
    const has_content = !row || row.status === 'completed' || row.status === 'incomplete'
    if (has_content) return kept(db, caller, id)
    const response = { ...row.response, status: row.status } as unknown as KeptResponse['response']
    return { response, input: askedItems(id, row.work?.body), native: null }
  }

  const told = async (db: Db, caller: Caller, id: string): Promise<StoredResponse> =>
    (await made(db, caller, id)).response

  /** Promised now, and begun at once where there is room. */
  async function promise(parts: CreateNeeds, request: FastifyRequest, reply: FastifyReply) {
    const { status, headers, body } = await path.createBackground(parts, request)
    void path.jobs.turn().catch((err) => app.log.error({ err }, 'background responses could not be begun'))
    const { id } = JSON.parse(body.toString('utf8'))
    const { json } = request.body as JsonBody
    const { project_id } = request.caller
    reply.headers(headers)
    if ((json as { stream?: unknown }).stream === true)
      return follow(jobsOn(request.db), { project_id, id, after: -1 }, reply)
    return reply.code(status).send(body)
  }

  /** R74: there, and for this caller to see. */
  async function kept(db: Db, caller: Caller, id: string) {
    const response = found(await storeOn(db).find(caller.project_id, id), 'response', id)
    if (!maySee(caller, response)) throw madeByAnother(`The response '${id}'`)
    return response
  }

  await app.register(async (generate) => {
    takeBodiesAsBytes(generate)
    for (const [url, answered] of [
      ['/v1/responses', Response],
      ['/v2/responses', NativeResponse],
    ] as const)
      generate.post(
        url,
        {
          config: generating,
          bodyLimit: GENERATION_MAX_BYTES,
          schema: {
            tags,
            summary: 'Create a response',
            body: ResponseRequest,
            response: { 200: wholeOrStreamed(answered, RESPONSE_EVENTS) },
          },
        },
        (request, reply) => {
          const { json } = (request.body as JsonBody | undefined) ?? {}
          if (background && url === '/v1/responses' && asksForBackground(json))
            return promise(background, request, reply)
          return path.run('responses', request, reply)
        },
      )

    generate.post(
      COMPACT,
      {
        config: generating,
        bodyLimit: GENERATION_MAX_BYTES,
        schema: {
          tags,
          summary: 'Compact a conversation',
          description: 'By an upstream that has a Responses API of its own; 400 where that of the model has none.',
          body: ResponseRequest,
          response: { 200: whole(Compaction) },
        },
      },
      (request, reply) => path.run('responses', request, reply),
    )

    generate.post(
      '/v1/responses/input_tokens',
      {
        config: counting,
        bodyLimit: GENERATION_MAX_BYTES,
        schema: {
          tags,
          summary: 'Count the tokens of a request',
          description: 'By the upstream, at no charge; 404 where the upstream of the model counts none.',
          body: ResponseRequest,
          response: { 200: whole(InputTokens) },
        },
      },
      async (request: FastifyRequest, reply) => {
        const { status, headers, body } = await path.countResponseTokens(request)
        return reply.code(status).headers(headers).send(body)
      },
    )
  })

  app.get(
    '/v1/responses/:response_id',
    {
      config: watch,
      schema: {
        tags,
        summary: 'Retrieve a response',
        description:
          'With `stream=true`, of a background response: its events, from the one behind `starting_after` on, until ' +
          'it has ended. They are kept for an hour after that.',
        params: Params,
        querystring: FollowQuery,
        response: { 200: wholeOrStreamed(StoredResponse, RESPONSE_EVENTS) },
      },
    },
    async ({ caller, params: { response_id: id }, query, db }, reply) => {
      const { stream, starting_after } = query
      if (stream !== 'true') return told(db, caller, id) as never
      const row = await promised(db, caller, id)
      if (!row) await kept(db, caller, id)
      if (!row) throw new Refusal('invalid_request', "'stream': only a background response can be read as events.")
      const after = starting_after === undefined ? -1 : wholeNumber('starting_after', starting_after, EVENT_NUMBERS)
      return follow(jobsOn(db), { ...row, after }, reply) as never
    },
  )

  app.delete(
    '/v1/responses/:response_id',
    {
      config: manage,
      schema: { tags, summary: 'Delete a response', params: Params, response: { 200: DeletedResponse } },
    },
    async ({ caller, params: { response_id: id }, db }) => {
      const row = await promised(db, caller, id)
      if (!row) await kept(db, caller, id)
      path.jobs.stopped(id)
      const gone = [
        row && (await jobsOn(db).remove(row, path.jobs.now())),
        await storeOn(db).remove(caller.project_id, id),
      ]
      found(gone.includes(true) || undefined, 'response', id)
      return { id, object: 'response' as const, deleted: true as const }
    },
  )

  app.post(
    '/v1/responses/:response_id/cancel',
    {
      config: manage,
      schema: {
        tags,
        summary: 'Cancel a response',
        description: 'A background response, at any time: one that has ended stays as it is. Any other is 400.',
        params: Params,
        response: { 200: StoredResponse },
      },
    },
    async ({ caller, params: { response_id: id }, db }) => {
      const row = await promised(db, caller, id)
      if (!row) await kept(db, caller, id)
      if (!row) throw new Refusal('invalid_request', 'Only a background response can be cancelled.')
      const response = { ...row.response, status: 'cancelled' }
      if (!(await jobsOn(db).cancel(row, response, path.jobs.now()))) return told(db, caller, id)
      path.jobs.stopped(id)
      await storeOn(db).remove(caller.project_id, id) // where it was made at the same moment
      return response as unknown as StoredResponse
    },
  )

  app.get(
    '/v1/responses/:response_id/input_items',
    {
      config: watch,
      schema: {
        tags,
        summary: 'List what went in',
        params: Params,
        querystring: ItemsQuery,
        response: { 200: InputItems },
      },
    },
    async ({ caller, params: { response_id: id }, query, db }) => {
      const page = readItemsPage(query)
      const items = inputItems(await made(db, caller, id), page, gateway.full_fidelity)
      return { ...items, data: [...items.data] }
    },
  )

  app.get(
    '/v2/responses/:response_id',
    {
      config: watch,
      schema: {
        tags,
        summary: 'Retrieve a response with how it came about',
        params: Params,
        response: { 200: StoredResponse },
      },
    },
    async ({ caller, params, db }) => {
      const { response, native } = await made(db, caller, params.response_id)
      return { ...response, ...native }
    },
  )

  app.get(
    '/v2/responses/:response_id/attempts',
    {
      config: watch,
      schema: { tags, summary: 'List its attempts', params: Params, response: { 200: listOf(Attempt) } },
    },
    async ({ caller, params, db }) => {
      const { native } = await made(db, caller, params.response_id)
      return list([...(native?.attempts ?? [])])
    },
  )
}
