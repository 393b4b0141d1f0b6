// GET /v2/usage as the pages use it.

import type { Static } from 'typebox'
import type { UsageEvent } from '../../src/usage/usage-event.ts'
import type { UsageOutcome } from '../../src/usage/usage-outcomes.ts'
import type { UsageGroup, UsageQuery } from '../../src/usage/usage-query.ts'
import { get } from './api-client.ts'

export type { UsageEvent, UsageGroup, UsageOutcome }

export type UsageAsked = Omit<Static<typeof UsageQuery>, 'group_by'>

/** What usage can be narrowed down to. */
export type UsageFilters = Omit<UsageAsked, 'from' | 'to' | 'limit'>

export interface EventPage {
  data: UsageEvent[]
  has_more: boolean
}

export const asked = (query: Record<string, string | undefined>) =>
  new URLSearchParams(Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined))

export const usageEvents = async (query: UsageAsked, signal?: AbortSignal) =>
  (await get<{ data: UsageEvent[] }>(`/v2/usage?${asked(query)}`, signal)).data

export const usageGroups = async (query: UsageAsked & { group_by: string }, signal?: AbortSignal) =>
  (await get<{ data: UsageGroup[] }>(`/v2/usage?${asked(query)}`, signal)).data

/** What failed most, and what is named, the worst first. */
export async function usageOutcomes(
  query: UsageAsked & { group_by: string },
  names: readonly string[],
  signal?: AbortSignal,
): Promise<UsageOutcome[]> {
  const params = asked(query)
  for (const name of names) params.append('name', name)
  return (await get<{ data: UsageOutcome[] }>(`/v2/usage/outcomes?${params}`, signal)).data
}

/** One page of events, the newest first; `after` is the last trace id of the page before. */
export const usageEventPage = (query: UsageAsked & { after?: string | undefined }, signal?: AbortSignal) =>
  get<EventPage>(`/v2/usage?${asked(query)}`, signal)
