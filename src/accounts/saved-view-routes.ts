// /v2/saved-views: the views that the caller keeps, a person in the console or a key.
import { Type } from 'typebox'
import type { Caller } from '../core/caller.ts'
import type { Clock } from '../core/clock.ts'
import { listOf } from '../core/shapes.ts'
import { found, list, type Routes } from '../http/routes.ts'
import { DeletedView, NewSavedView, SavedView, savedView, tooMany, viewNamed } from './saved-view.ts'
import { savedViewOf, savedViewStore, savedViewsPresent } from './saved-view-store.ts'

const own = { scope: 'read', class: 'read' } as const
const tags = ['Project']

const views = {
  kind: 'saved_views',
  present: savedViewsPresent,
  replaced: ({ caller, body }: { caller: Caller; body: unknown }) =>
    savedViewOf(caller.project_id, ownerOf(caller), viewNamed(body as NewSavedView)),
} as const

const ownerOf = ({ person_id, key_id }: { person_id?: string | undefined; key_id: string }) => person_id ?? key_id

export const savedViewRoutes: Routes<{ clock: Clock }> = async (app, { clock }) => {
  app.get(
    '/v2/saved-views',
    {
      config: own,
      schema: { tags, summary: 'List the caller’s saved views, by name', response: { 200: listOf(SavedView) } },
    },
    async ({ caller, db }) => list(await savedViewStore(db).list(caller.project_id, ownerOf(caller))),
  )

  app.post(
    '/v2/saved-views',
    {
      config: { ...own, adds: views },
      schema: {
        tags,
        summary: 'Save a view',
        description: 'In the place of the caller’s view of the same page and name, where there is one.',
        body: NewSavedView,
        response: { 200: SavedView },
      },
    },
    async ({ caller, body, db }) => {
      const view = savedView(body, clock.now())
      const saved = await savedViewStore(db).save(caller.project_id, ownerOf(caller), view, clock.now())
      if (!saved) throw tooMany()
      return saved
    },
  )

  app.delete(
    '/v2/saved-views/:view_id',
    {
      config: own,
      schema: {
        tags,
        summary: 'Delete a saved view',
        params: Type.Object({ view_id: Type.String({ description: 'Begins `viw_`.' }) }),
        response: { 200: DeletedView },
      },
    },
    async ({ caller, params: { view_id }, db }) => {
      const removed = await savedViewStore(db).remove(caller.project_id, ownerOf(caller), view_id)
      found(removed || undefined, 'saved view', view_id)
      return { id: view_id, object: 'saved_view.deleted' as const, deleted: true as const }
    },
  )
}
