// R74: whose contents something has. What another key made is for admins to see.
import type { Caller } from './caller.ts'
import { Refusal } from './refusal.ts'
import { allows } from './scopes.ts'

/** Null where nobody noted it: then it is for admins alone. */
export interface Maker {
  /** The key, or the person who was signed in. */
  made_by: string | null
  /** Of a child key, its parent: whoever made the child has its secret anyway. */
  made_under: string | null
}

type Who = Pick<Caller, 'key_id' | 'person_id' | 'parent_id'>

export const makerOf = ({ key_id, person_id, parent_id }: Who): Maker => ({
  made_by: person_id ?? key_id,
  made_under: parent_id ?? null,
})

export function maySee(who: Who & Pick<Caller, 'scopes'>, { made_by, made_under }: Maker): boolean {
  const { key_id, person_id = key_id, scopes } = who
  return made_by === person_id || made_under === person_id || allows(scopes, 'admin')
}

export const madeByAnother = (what: string) =>
  new Refusal('insufficient_scope', `${what} was made with another key. Seeing it needs the 'admin' scope.`)
