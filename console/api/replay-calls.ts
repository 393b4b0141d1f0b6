// /v2/replay-runs as the pages use it.
import type { ReplayComparison } from '../../src/replays/replay-comparison.ts'
import type { ReplayItem } from '../../src/replays/replay-item.ts'
import type { Execution, NewReplayRun, ReplayRun } from '../../src/replays/replay-run.ts'
import { get, post, postLong } from './api-client.ts'

export type { NewReplayRun, ReplayComparison, ReplayItem, ReplayRun }

const RUNS = '/v2/replay-runs'
const ITEMS_MAX = 1_000

export const listReplays = async (signal?: AbortSignal) => (await get<{ data: ReplayRun[] }>(RUNS, signal)).data

export const findReplay = (id: string, signal?: AbortSignal) => get<ReplayRun>(pathOf(id), signal)

/** A thousand items, planned beside live calls, take half a minute. */
export const planReplay = (body: NewReplayRun, idempotency_key: string) =>
  postLong<ReplayRun>(RUNS, body, idempotency_key)

export const executeReplay = (id: string, body: Execution, idempotency_key: string) =>
  post<ReplayRun>(`${pathOf(id)}/execute`, body, idempotency_key)

export type ReplayStep = 'pause' | 'resume' | 'cancel'

export const stepReplay = (id: string, step: ReplayStep) => post<ReplayRun>(`${pathOf(id)}/${step}`, {})

export const compareReplay = (id: string, signal?: AbortSignal) =>
  get<ReplayComparison>(`${pathOf(id)}/comparison`, signal)

/** All of a run, in two or three pages at the most. */
export async function listReplayItems(id: string, signal?: AbortSignal): Promise<ReplayItem[]> {
  const items: ReplayItem[] = []
  for (let after = ''; ; ) {
    const path = `${pathOf(id)}/items?limit=${ITEMS_MAX}${after && `&after=${encodeURIComponent(after)}`}`
    const { data, has_more } = await get<{ data: ReplayItem[]; has_more: boolean }>(path, signal)
    items.push(...data)
    const last = data.at(-1)
    if (!has_more || !last) return items
    after = `${last.trace_id}/${last.arm}`
  }
}

const pathOf = (id: string) => `${RUNS}/${encodeURIComponent(id)}`
