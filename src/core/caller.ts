// Who is calling, once a key has been looked up (§5).
import type { Scope } from './scopes.ts'

export interface Caller {
  key_id: string
  project_id: string
  scopes: readonly Scope[]
  /** §5.6: whether the project's owner has a verified e-mail address. */
  owner_verified: boolean
}
