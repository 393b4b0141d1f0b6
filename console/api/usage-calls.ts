// GET /v2/usage as the pages use it.

import type { Static } from 'typebox'
import type { UsageEvent } from '../../src/usage/usage-event.ts'
import type { UsageGroup, UsageQuery } from '../../src/usage/usage-query.ts'
import { get } from './api-client.ts'

export type { UsageEvent, UsageGroup }

type Query = Omit<Static<typeof UsageQuery>, 'group_by'>

const asked = (query: Record<string, string | undefined>) =>
  new URLSearchParams(Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined))

export const usageEvents = async (query: Query, signal?: AbortSignal) =>
  (await get<{ data: UsageEvent[] }>(`/v2/usage?${asked(query)}`, signal)).data

export const usageGroups = async (query: Query & { group_by: string }, signal?: AbortSignal) =>
  (await get<{ data: UsageGroup[] }>(`/v2/usage?${asked(query)}`, signal)).data
