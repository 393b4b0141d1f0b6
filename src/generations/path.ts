// What every generation of this process goes through: built once (assembly.ts), used by each.

import type { Opening } from '../answers/answer-stream.ts'
import type { Limit } from '../budgets/budget.ts'
import type { Slices } from '../budgets/slice-store.ts'
import type { Waivers } from '../budgets/waiver-store.ts'
import type { Admission } from '../capacity/admission.ts'
import type { Breakers } from '../capacity/breaker.ts'
import type { Clock } from '../core/clock.ts'
import type { FairTurns } from '../core/fair-turns.ts'
import type { LiveCalls } from '../core/live-calls.ts'
import type { MemoryRoom } from '../core/memory-room.ts'
import type { CredentialStore } from '../credentials/credential-store.ts'
import type { Tag } from '../headers/call-tags.ts'
import type { IdempotencyStore } from '../idempotency/idempotency-store.ts'
import type { KeptQuota } from '../limits/kept-quota.ts'
import type { Recorder } from '../recordings/recorder.ts'
import type { Chains } from '../responses/conversation.ts'
import type { Affinity } from '../routing/affinity.ts'
import type { Departures } from '../routing/departures.ts'
import type { Dialer } from '../routing/dialer.ts'
import type { Gateway } from '../routing/gateway.ts'
import type { Snapshots } from '../routing/routing-snapshot.ts'
import type { LargeBodies } from '../storage/large-bodies.ts'
import type { GenerationCounts } from '../telemetry/generation-counts.ts'
import type { UsageStore } from '../usage/usage-store.ts'
import type { BackgroundJobs } from './background-jobs.ts'
import type { ChainSizes } from './chain-sizes.ts'
import type { DeferredWrites } from './deferred-writes.ts'
import type { OnlyCalls } from './only-target.ts'
import type { PlacingOf } from './placing.ts'
import type { PromptExpansion } from './prompt-expansion.ts'
import type { PromptMemory } from './prompt-memory.ts'
import type { Charges } from './settle.ts'

export interface Path {
  clock: Clock
  gateway: Gateway
  snapshots: Snapshots
  dialer: Dialer
  slots: Admission
  breakers: Breakers
  affinity: Affinity
  departures: Departures
  slices: Slices
  waivers: Waivers
  charges: Charges
  deferred: DeferredWrites
  counts: GenerationCounts
  prompts: PromptMemory
  /** R84: which of several clusters, by their caches. */
  placing: PlacingOf
  idempotency: Pick<IdempotencyStore, 'reserve' | 'release'>
  usage: Pick<UsageStore, 'insert'>
  credentials: Pick<CredentialStore, 'noteRefused' | 'noteTaken'>
  responses: Chains
  /** §8.1.2: how long the conversations are that were continued lately. */
  chains: ChainSizes
  /** R84: a session that takes no more turns. */
  isClosed(project_id: string, session_id: string): Promise<boolean>
  /** R78: room for what sessions keep of calls; told of those that they keep nothing of. */
  turn_contents: Pick<KeptQuota, 'take' | 'giveBack'> & { onDrop(): void }
  /** Calls that this process makes itself. */
  only: OnlyCalls
  /** Responses that nobody waits for. */
  jobs: BackgroundJobs
  /** Bytes of bodies and answers that are held for calls. */
  calls_room: MemoryRoom
  /** Bytes of images and sound that are on their way. */
  media_room: MemoryRoom
  /** What is too large to be held, on its way into the store. */
  bodies: Pick<LargeBodies, 'write'>
  /** Contents that prompts refer to. */
  expansion: PromptExpansion
  /** What recorded calls are gathered on. */
  tapes: Pick<Recorder, 'begin' | 'end'>
  /** How long a stream may be silent towards its client (R82). */
  opening: Opening
  /** R78: whose request goes on. */
  turns: FairTurns
  /** Told of each call but those of replay runs. */
  live: Pick<LiveCalls, 'came'>
  /** A call does not fit into what is left of a limit. */
  onBudgetRefused(refused: { project_id: string; key_id: string; limit: Exclude<Limit, 'tag'> }): void
  /** Budgets that a call with these tags counts against, by their ids. */
  tagBudgetsOf(project_id: string, tags: readonly Tag[]): Promise<readonly string[]>
}
