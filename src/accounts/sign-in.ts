// Somebody who signed in: who they are, which projects they see, and for how long (T-101).
import { type Static, Type } from 'typebox'
import { HOUR_MS } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'
import { time } from '../core/shapes.ts'
import { Role } from './roles.ts'

export const SIGN_IN_LIFE_MS = 14 * 24 * HOUR_MS
export const RENEWAL_MS = 24 * HOUR_MS // a session that is used is prolonged once a day, not at each request

/** From the last use that was noted, 14 days. */
export const isDueForRenewal = (expires_at: number, now: number) => expires_at - now <= SIGN_IN_LIFE_MS - RENEWAL_MS

const ProjectInView = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    role: Role,
    is_operator: Type.Optional(
      Type.Literal(true, { description: 'It is the project of the first start: its owners run the service (R79).' }),
    ),
  },
  { title: 'ProjectInView' },
)
export type ProjectInView = Static<typeof ProjectInView>

export const SignedIn = Type.Object(
  {
    object: Type.Literal('session'),
    person: Type.Object({ id: Type.String(), email: Type.String(), email_verified: Type.Boolean() }),
    project: Type.Optional(Type.Object(ProjectInView.properties, { description: 'What `/v2` is about.' })),
    projects: Type.Array(ProjectInView, { description: 'All of the person’s projects.' }),
    expires_at: time(),
  },
  { title: 'Session' },
)
export type SignedIn = Static<typeof SignedIn>

/** The project to begin with: one's own before others', the oldest first. */
export function firstProject(projects: readonly ProjectInView[]): ProjectInView | undefined {
  return projects.find(({ role }) => role === 'owner') ?? projects[0]
}

export const wrongCredentials = () => new Refusal('invalid_credentials', 'The e-mail address or the password is wrong.')

export const notSignedIn = () => new Refusal('invalid_credentials', 'Nobody is signed in here. Log in first.')
