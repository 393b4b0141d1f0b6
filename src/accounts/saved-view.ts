// A view of a page that somebody keeps under a name: what stands behind the `?` of its address. Each has their own.
import { type Static, Type } from 'typebox'
import { rfc3339 } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { Refusal } from '../core/refusal.ts'
import { Label, label, storable, time } from '../core/shapes.ts'

const NAME_MAX = 80
const QUERY_MAX = 2_000
/** Of one person, or one key, in one project, which has a bound of its own (R70). */
export const VIEWS_MAX = 100

const page = Type.Enum(['requests', 'usage'], { description: 'The page of the console that it is of.' })
const query = Type.String({ maxLength: QUERY_MAX, description: 'What stands behind the `?` of its address.' })

export const SavedView = Type.Object(
  {
    id: Type.String({ description: 'Opaque, begins `viw_`.' }),
    object: Type.Literal('saved_view'),
    page,
    name: Type.String(),
    query,
    created_at: time(),
  },
  { title: 'SavedView' },
)
export type SavedView = Static<typeof SavedView>

export const NewSavedView = Type.Object(
  { page, name: Label('Unique among the caller’s views of the page.', NAME_MAX), query },
  { title: 'NewSavedView' },
)
export type NewSavedView = Static<typeof NewSavedView>

export const DeletedView = Type.Object(
  { id: Type.String(), object: Type.Literal('saved_view.deleted'), deleted: Type.Literal(true) },
  { title: 'DeletedSavedView' },
)

/** What is unique among the views of one owner. */
export const viewNamed = ({ page, name }: NewSavedView) => ({ page, name: label('name', name) })

export function savedView(asked: NewSavedView, now: number): SavedView {
  return {
    id: newId('viw'),
    object: 'saved_view',
    ...viewNamed(asked),
    query: queryIn(asked.query),
    created_at: rfc3339(now),
  }
}

/** It becomes a part of an address of the console: nothing that would lead elsewhere. */
function queryIn(text: string): string {
  const parsed = new URLSearchParams(storable('query', text)).toString()
  if (parsed.length > QUERY_MAX)
    throw new Refusal('invalid_request', `'query' must have at most ${QUERY_MAX} characters, written as an address.`)
  return parsed
}

export const tooMany = () =>
  new Refusal('quota_exceeded', `There may be at most ${VIEWS_MAX} saved views of one person in a project.`, {
    headers: { 'x-should-retry': 'false' },
  })
