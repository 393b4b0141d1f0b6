// GET /v1/models (§8.2, R53): what a request of this project may name. Sorted by code point. /v2/models is the same
// list for the native surface, where browsers with a session may ask too.
import type { FastifyReply } from 'fastify'
import { type Static, Type } from 'typebox'
import { HeldBytes, memoryRoom, type Room } from '../core/memory-room.ts'
import { listOf } from '../core/shapes.ts'
import { onceClosed } from '../http/once-closed.ts'
import type { Routes } from '../http/routes.ts'
import { sendList, slicesOf } from '../http/whole-list.ts'
import { unknownModel } from '../keys/key-terms.ts'
import { PRICES_AS_OF } from '../models/price-book.ts'
import type { ModelsFor, Names } from './nameable-models.ts'

export const Model = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('model'),
    created: Type.Integer({ description: 'Unix seconds.' }),
    owned_by: Type.String(),
  },
  { title: 'Model' },
)
export type Model = Static<typeof Model>

const config = { scope: 'read', class: 'read' } as const
const tags = ['Inference (OpenAI-compatible)'] as const
const CREATED_S = Date.parse(PRICES_AS_OF) / 1_000

export const modelRoutes: Routes<{ modelsFor: ModelsFor }> = async (app, { modelsFor }) => {
  for (const [url, tag] of [
    ['/v1/models', tags[0]],
    ['/v2/models', 'Routing'],
  ] as const)
    app.get(
      url,
      { config, schema: { tags: [tag], summary: 'List models', response: { 200: listOf(Model) } } },
      async ({ caller }, reply) => sendModels(reply, await modelsFor.all(caller)),
    )

  app.get(
    '/v1/models/*', // ids may contain slashes
    {
      config,
      schema: {
        tags,
        summary: 'Retrieve a model',
        params: Type.Object({ '*': Type.String() }),
        response: { 200: Model },
      },
    },
    async ({ caller, params }) => {
      const id = params['*']
      const owner = await modelsFor.ownerOf(caller, id)
      if (owner === undefined) throw unknownModel(id, caller)
      return modelOf(id, owner)
    },
  )
}

const modelOf = (id: string, owned_by: string): Model => ({ id, object: 'model', created: CREATED_S, owned_by })

const MIB = 2 ** 20
/** R78: lists that are being sent, since a client may take a while to read one. */
const LISTS: Room = { bytes: 128 * MIB, bytes_of_one: 64 * MIB, is_shared_out: true }
const room = memoryRoom(LISTS, 'long lists of models')

/** Held until it is sent, or the client has left. */
export function holdNames(reply: FastifyReply, { bytes }: Names): void {
  const held = new HeldBytes(room, reply.request.caller.project_id)
  held.take(bytes)
  const giveBack = () => held.giveBack()
  reply.raw.once('finish', giveBack)
  onceClosed(reply.raw, giveBack) // the client may have left while the names were looked up
}

/** Each is made when it is written. */
export function sendModels(reply: FastifyReply, names: Names) {
  holdNames(reply, names)
  return sendList(reply, modelsIn(names), Model)
}

async function* modelsIn({ ids, owners }: Names): AsyncGenerator<Model[]> {
  let at = 0
  for await (const some of slicesOf(ids)) yield some.map((id) => modelOf(id, owners[at++] ?? ''))
}
