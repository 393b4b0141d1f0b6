// /v2/tag-budgets as the pages use it.
import type { Static } from 'typebox'
import type { DeletedTagBudget, NewTagBudget, TagBudget, TagLimit } from '../../src/budgets/tag-budget.ts'
import { del, get, patch, post } from './api-client.ts'

export type { TagBudget }

const BUDGETS = '/v2/tag-budgets'

export const listTagBudgets = async (signal?: AbortSignal): Promise<readonly TagBudget[]> =>
  (await get<{ data: TagBudget[] }>(BUDGETS, signal)).data

export const addTagBudget = (body: Static<typeof NewTagBudget>, idempotency_key: string) =>
  post<TagBudget>(BUDGETS, body, idempotency_key)

export const setTagLimit = (id: string, body: Static<typeof TagLimit>) => patch<TagBudget>(`${BUDGETS}/${id}`, body)

export const deleteTagBudget = (id: string) => del<Static<typeof DeletedTagBudget>>(`${BUDGETS}/${id}`)
