// R3: what somebody may do in a project, by role. A role is a name for a scope.
import { Type } from 'typebox'
import type { Scope } from '../core/scopes.ts'

export const ROLES = ['owner', 'member', 'viewer'] as const
export const Role = Type.Enum([...ROLES], {
  description: '`owner` manages the project, `member` uses it, `viewer` looks at it.',
})
export type Role = (typeof ROLES)[number]

const SCOPE_OF: Record<Role, Scope> = { owner: 'admin', member: 'inference', viewer: 'read' }

export const scopesOf = (role: Role): readonly Scope[] => [SCOPE_OF[role]]
