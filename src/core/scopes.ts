// R3: what a key may do. Each scope includes the ones before it.
import { Type } from 'typebox'

export const SCOPES = ['read', 'inference', 'admin'] as const
export const Scope = Type.Enum([...SCOPES])
export type Scope = (typeof SCOPES)[number]

export const allows = (granted: readonly Scope[], needed: Scope) =>
  granted.some((scope) => SCOPES.indexOf(scope) >= SCOPES.indexOf(needed))
