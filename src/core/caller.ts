// Who is calling, once a key has been looked up (§5).
import type { Scope } from './scopes.ts'

export interface Caller {
  key_id: string
  project_id: string
  scopes: readonly Scope[]
  /** §5.6: whether the project's owner has a verified e-mail address. */
  owner_verified: boolean
  /** §4.4: undefined without a limit. Whether a call fits is decided where the money is, not by this. */
  budget_micros: number | undefined
  project_cap_micros: number | undefined
  /** What is known of the project's routes is good for as long as this number stands still. */
  routing_epoch: number
}
