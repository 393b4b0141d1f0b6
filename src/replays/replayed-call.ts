// What the room of replays needs of others: calls that were recorded, and a way to plan and to make calls like them.
import type { Caller } from '../core/caller.ts'
import type { MemoryRoom, Taking } from '../core/memory-room.ts'
import type { UsageFilter } from '../usage/usage-query.ts'
import type { Arm, Figures } from './replay-item.ts'
import type { StoredRun } from './replay-run.ts'
import { replayedBody, type TestedRelease } from './replay-target.ts'
import type { Said } from './said-comparison.ts'

/** A call as it was recorded. */
export interface RecordedCall {
  trace_id: string
  endpoint: string
  request: Uint8Array
  answer: Uint8Array
  status: number
  is_stream: boolean
}

export interface RecordedCalls {
  /** R78: what is read has a place in it, until it is done with. */
  room: Pick<MemoryRoom, 'place'>
  /** `place` is taken before anything is read. */
  read(project_id: string, trace_id: string, place: Taking): Promise<RecordedCall | undefined>
  recorded(project_id: string, trace_ids: readonly string[]): Promise<ReadonlySet<string>>
}

/** What a recorded call used. */
export interface UsedBefore {
  trace_id: string
  endpoint: string
  status: string
  provider: string
  resolved_model: string
  bundle_id: string | null
  input_tokens: number
  cached_tokens: number
  written_tokens: number
  output_tokens: number
  charged_micros: number
  ttft_ms: number | null
  duration_ms: number
}

export interface UsedCalls {
  find(project_id: string, trace_id: string): Promise<UsedBefore | undefined>
  /** At most so many, the newest first. */
  traceIds(project_id: string, filter: UsageFilter, most: number): Promise<string[]>
}

/** A call as it is to be asked again. */
export interface CallAgain {
  caller: Caller
  endpoint: string
  body: Buffer
  bundle_id: string | null
  release: TestedRelease | null
  cluster_id: string | undefined
}

export type PlannedCall =
  | {
      kind: 'route'
      target: string
      provider: string
      model: string
      profile: string
      high_micros: number
      /** What so many tokens cost there. */
      costOf(tokens: Pick<UsedBefore, 'input_tokens' | 'cached_tokens' | 'written_tokens' | 'output_tokens'>): number
      /** What the target is believed to have of the prompt. */
      held_tokens: number
    }
  | { kind: 'refused'; message: string }

export interface AnsweredCall {
  status: number
  type: string | null
  message: string | null
  trace_id: string | null
  body: Buffer
}

export interface ReplayCalls {
  /** Whether answers of this endpoint can be compared. */
  isCompared(endpoint: string): boolean
  plan(call: CallAgain): Promise<PlannedCall>
  /** Under its item's name, so never twice. */
  run(call: CallAgain, key: string): Promise<AnsweredCall>
  said(endpoint: string, is_stream: boolean, answer: Uint8Array): Promise<Said>
  close(): Promise<void>
}

export interface ItemName {
  project_id: string
  run_id: string
  trace_id: string
  arm: Arm
}

const OF_AZURE = /^\/openai(\/deployments\/:deployment|\/v1)?(?=\/)/

/** What came by Azure's paths is asked again by ours: the deployment is the model, and stands in what was recorded. */
export const ownEndpoint = (endpoint: string): string => endpoint.replace(OF_AZURE, '/v1')

interface Found {
  caller: Caller
  recorded: RecordedCall
  bundle_id: string | null
}

/** The control asks what was recorded, where that would go today. */
export async function callOf(run: Asked, arm: Arm, { caller, recorded, bundle_id }: Found): Promise<CallAgain> {
  const endpoint = ownEndpoint(recorded.endpoint)
  const { target, release, overrides } = run
  if (arm === 'control')
    return { caller, endpoint, body: await replayedBody(recorded, {}), bundle_id, release: null, cluster_id: undefined }
  const body = await replayedBody(recorded, { model: release?.alias_name ?? target.model, overrides })
  return { caller, endpoint, body, bundle_id, release, cluster_id: target.cluster_id }
}

export type Asked = Pick<StoredRun, 'target' | 'release' | 'overrides'>

export const figuresOf = (used: UsedBefore): Figures => ({
  provider: used.provider,
  model: used.resolved_model,
  input_tokens: used.input_tokens,
  cached_tokens: used.cached_tokens,
  output_tokens: used.output_tokens,
  charged_micros: used.charged_micros,
  ttft_ms: used.ttft_ms,
  duration_ms: used.duration_ms,
})
