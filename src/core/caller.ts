// Who is calling, once a key or a browser's session has been looked up (§5).
import type { Scope } from './scopes.ts'

export interface Caller {
  /** The key's id, or that of the session of somebody who signed in. */
  key_id: string
  /** Only where somebody signed in. */
  person_id?: string
  project_id: string
  scopes: readonly Scope[]
  /** §5.6: whether the project's owner has a verified e-mail address. */
  owner_verified: boolean
  /** §4.4: undefined without a limit. Whether a call fits is decided where the money is, not by this. */
  budget_micros: number | undefined
  /** The lower of the operator's cap and the project's own, where that refuses anything; undefined without either. */
  project_cap_micros: number | undefined
  /** R72: there is a cap that refuses nothing; what is above it is counted. */
  counts_overage?: true
  /** R79: the operator suspended the project. */
  is_suspended?: true
  /** R78, R79: what the project weighs where projects ask for the same slots; absent where it is 1. */
  share?: number
  /** R65: undefined without a limit by the calendar. */
  window_limit_micros?: number
  /** R76: where a budget does not buy the output that a call allows, it gets what it does buy. */
  clamp_output?: true
  /** R64: only of a child key. */
  parent_id?: string
  /** R62, R63: what the key, and its parent where it has one, may name and come from; absent where anything goes. */
  allowed_models?: readonly (readonly string[])[]
  allowed_cidrs?: readonly (readonly string[])[]
  /** R74: for which clusters alone it reports. Of a child only where it has a list of its own, and its parent's too. */
  allowed_clusters?: readonly (readonly string[])[]
  /** R74: it is a child, or bound to a time, to models or to networks. */
  has_terms?: true
  /** R60, R61: absent where the key, or this secret of it, has no end of its own. */
  works_until?: number
  /** What is known of the project's routes is good for as long as this number stands still. */
  routing_epoch: number
  /** What is remembered of the project's prompts is good for as long as this stands still; absent where it is 0. */
  memory_epoch?: number
  /** No tag of its project has a budget. Absent where one has, or where it is not known. */
  has_no_tag_budgets?: true
  /** Its project has its generations recorded, as far as the operator lets it. */
  records?: true
  /** §8.1: what this key may do in a minute or at once, where that is not what every key may. */
  limits?: OwnLimits
}

/** Null: as for every key. */
export interface OwnLimits {
  requests_per_minute: number | null
  tokens_per_minute: number | null
  concurrent_streams: number | null
  /** Null: as many as there are. */
  max_parallel_requests: number | null
  /** What it may ask of single models. */
  models?: readonly OwnModelRate[] | null
}

export interface OwnModelRate {
  model: string
  requests_per_minute?: number
  tokens_per_minute?: number
}
