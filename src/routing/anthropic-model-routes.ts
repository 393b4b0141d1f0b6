// R81: the models that a request may name, as clients of Anthropic's protocol list them.
import { Type } from 'typebox'
import { rfc3339 } from '../core/clock.ts'
import type { ListFormat } from '../core/list-format.ts'
import { Refusal } from '../core/refusal.ts'
import { orNull } from '../core/shapes.ts'
import type { Routes } from '../http/routes.ts'
import { sendWhole, slicesOf } from '../http/whole-list.ts'
import { unknownModel } from '../keys/key-terms.ts'
import { PRICES_AS_OF } from '../models/price-book.ts'
import { holdNames } from './model-routes.ts'
import { type ModelsFor, type Names, placeIn } from './nameable-models.ts'

const ModelInfo = Type.Object(
  {
    id: Type.String(),
    type: Type.Literal('model'),
    display_name: Type.String(),
    created_at: Type.String({ format: 'date-time' }),
  },
  { title: 'ModelInfo' },
)
const ModelPage = Type.Object(
  {
    data: Type.Array(ModelInfo),
    has_more: Type.Boolean(),
    first_id: orNull(Type.String()),
    last_id: orNull(Type.String()),
  },
  { title: 'ModelInfoPage' },
)
const Query = Type.Object({
  limit: Type.Optional(Type.String({ description: '1 to 1000. Without one, all of them.' })),
  after_id: Type.Optional(Type.String({ description: 'The id of a model; the page begins behind it.' })),
  before_id: Type.Optional(Type.String({ description: 'The id of a model; the page ends before it.' })),
})

const config = { scope: 'read', class: 'read', x_api_key: true } as const
const tags = ['Messages (Anthropic-compatible)']
const CREATED_AT = rfc3339(Date.parse(PRICES_AS_OF))
const PAGE_MAX = 1_000

const told = (id: string) => ({
  id,
  type: 'model' as const,
  display_name: id,
  created_at: CREATED_AT,
})

export const anthropicModelRoutes: Routes<{ modelsFor: ModelsFor }> = async (app, { modelsFor }) => {
  app.get(
    '/anthropic/v1/models',
    { config, schema: { tags, summary: 'List models', querystring: Query, response: { 200: ModelPage } } },
    async ({ caller, query }, reply) => {
      const names = await modelsFor.all(caller)
      const page = pageOf(names, query)
      if (query.limit === undefined) holdNames(reply, names)
      return sendWhole(reply, slicesOf(page.ids), asPage(page))
    },
  )

  app.get(
    '/anthropic/v1/models/*', // ids may contain slashes
    {
      config,
      schema: {
        tags,
        summary: 'Retrieve a model',
        params: Type.Object({ '*': Type.String() }),
        response: { 200: ModelInfo },
      },
    },
    async ({ caller, params }) => {
      const id = params['*']
      if ((await modelsFor.ownerOf(caller, id)) === undefined) throw unknownModel(id, caller)
      return told(id)
    },
  )
}

interface Asked {
  limit?: string
  after_id?: string
  before_id?: string
}

function pageOf(names: Names, { limit, after_id, before_id }: Asked) {
  if (limit !== undefined && !(/^\d{1,4}$/.test(limit) && Number(limit) >= 1 && Number(limit) <= PAGE_MAX))
    throw new Refusal('invalid_request', "'limit' must be a whole number from 1 to 1000.")
  const { ids } = names
  const from = after_id === undefined ? 0 : placeOf(names, after_id, 'after_id') + 1
  const to = Math.max(from, before_id === undefined ? ids.length : placeOf(names, before_id, 'before_id'))
  const most = Math.min(to - from, limit === undefined ? ids.length : Number(limit))
  // Before an id, a page holds those that stand nearest to it.
  const page = before_id === undefined ? ids.slice(from, from + most) : ids.slice(to - most, to)
  return { ids: page, has_more: to - from > most }
}

/** Very many may be asked for at once, so they are written in steps. */
const asPage = ({ ids, has_more }: ReturnType<typeof pageOf>): ListFormat<string> => ({
  content_type: 'application/json; charset=utf-8',
  head: '{"data":[',
  item: (id) => JSON.stringify(told(id)),
  separator: ',',
  tail: `],${JSON.stringify({ has_more, first_id: ids[0] ?? null, last_id: ids.at(-1) ?? null }).slice(1)}`,
})

function placeOf(names: Names, id: string, field: string): number {
  const at = placeIn(names, id)
  if (at < 0) throw new Refusal('invalid_request', `'${field}' must be the id of a model in the list.`)
  return at
}
