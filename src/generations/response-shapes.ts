// What /v1/responses and what is kept of it look like from outside.
import { type Static, Type } from 'typebox'
import { listOf, orNull } from '../core/shapes.ts'

export const ResponseRequest = Type.Object(
  {
    model: Type.String(),
    input: Type.Any(),
    stream: Type.Optional(Type.Boolean()),
    store: Type.Optional(Type.Boolean()),
  },
  { title: 'ResponseRequest', additionalProperties: true },
)
/** As it was kept, which may be an upstream's own: nothing of it is held against a shape on its way out. */
export const StoredResponse = Type.Object(
  { id: Type.String(), object: Type.Literal('response') },
  { title: 'StoredResponse', additionalProperties: true, description: 'A `Response`, as it was answered.' },
)
export const DeletedResponse = Type.Object(
  { id: Type.String(), object: Type.Literal('response'), deleted: Type.Literal(true) },
  { title: 'DeletedResponse' },
)
export type StoredResponse = Static<typeof StoredResponse>
export const FollowQuery = Type.Object({
  stream: Type.Optional(Type.String({ description: '`true`: as events, of a background response.' })),
  starting_after: Type.Optional(Type.String({ description: 'The number of the last event that was read.' })),
})
/** What an event may be numbered. */
export const EVENT_NUMBERS = { minimum: 0, maximum: Number.MAX_SAFE_INTEGER }
export const InputItems = Type.Object(
  {
    ...listOf(Type.Object({}, { additionalProperties: true })).properties,
    first_id: orNull(Type.String()),
    last_id: orNull(Type.String()),
  },
  { title: 'InputItems' },
)
export const ItemsQuery = Type.Object({
  limit: Type.Optional(Type.String({ description: '1 to 100.' })),
  order: Type.Optional(Type.String({ description: '`asc` or `desc`, which is the default.' })),
  after: Type.Optional(Type.String({ description: 'The id of an item; the page begins behind it.' })),
})
