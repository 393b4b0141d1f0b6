// /v2/saved-views as the pages use it.
import type { Static } from 'typebox'
import type { DeletedView, NewSavedView, SavedView } from '../../src/accounts/saved-view.ts'
import { del, get, post } from './api-client.ts'

export type { NewSavedView, SavedView }

const VIEWS = '/v2/saved-views'

export const listViews = async (signal?: AbortSignal) => (await get<{ data: SavedView[] }>(VIEWS, signal)).data

export const saveView = (body: NewSavedView, idempotency_key: string) => post<SavedView>(VIEWS, body, idempotency_key)

export const deleteView = (id: string) => del<Static<typeof DeletedView>>(`${VIEWS}/${encodeURIComponent(id)}`)
