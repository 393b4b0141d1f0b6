// Who owns what: a project belongs to a person with an e-mail address, verified or not (§4.1 rule 1, §5.6).
import { rfc3339 } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import { Refusal } from '../core/refusal.ts'
import { label } from '../core/shapes.ts'

export interface Person {
  id: string
  email: string
  verified_at: string | null
  created_at: string
}

export interface Project {
  id: string
  object: 'project'
  name: string
  owner_id: string
  created_at: string
}

/** Who may make an account: anybody, or only who was invited into a project. */
export const SIGN_UP_MODES = ['open', 'invited'] as const
export type SignUpMode = (typeof SIGN_UP_MODES)[number]

const EMAIL_MAX = 254 // RFC 5321: the longest address that can be delivered to
const EMAIL = /^[^\s\p{C}@<>()[\]\\,;:"]+@[^\s\p{C}@.<>()[\]\\,;:"]+(\.[^\s\p{C}@.<>()[\]\\,;:"]+)+$/u

export function newPerson(email: string, verified: boolean, now: number): Person {
  const at = rfc3339(now)
  return { id: newId('usr'), email: emailAddress(email), verified_at: verified ? at : null, created_at: at }
}

export const FIRST_PROJECT_NAME = 'default'

/** What a project is called whose owner did not say: never like the one that the first start makes (0162). */
export function projectNameFor(email: string): string {
  const [name = ''] = email.split(/[+@]/)
  return name === '' || name === FIRST_PROJECT_NAME ? 'My project' : name
}

export function newProject(name: string, owner: Person, now: number): Project {
  return {
    id: newId('prj'),
    object: 'project',
    name: label('name', name),
    owner_id: owner.id,
    created_at: rfc3339(now),
  }
}

/** Addresses are compared in lower case: people do not tell Ada@example.com from ada@example.com. */
export function emailAddress(text: string, field = 'email'): string {
  const email = text.trim().toLowerCase()
  if (email.length > EMAIL_MAX || !EMAIL.test(email))
    throw new Refusal('invalid_request', `'${field}' must be an e-mail address.`)
  return email
}

/** The same for everybody, whatever they send: it tells nothing of which addresses are known. */
export const signUpClosed = () =>
  new Refusal('insufficient_scope', 'Sign-up is closed here. Ask somebody in the project for an invitation.')
