// Somebody who signed in: who they are, which projects they see, and for how long (T-101).
import { type Static, Type } from 'typebox'
import { DAY_MS } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'
import { time } from '../core/shapes.ts'
import { Role } from './roles.ts'
import type { SessionLimits } from './sign-in-settings.ts'

const RENEWALS = 12 // within the idle time: a session that is used is prolonged now and then, not at each request

/** From its use until it is too long unused, or has lasted for as long as one may. */
export const endOf = ({ idle_ms, lifetime_ms }: SessionLimits, begun_at: number, now: number) =>
  Math.min(now + idle_ms, lifetime_ms === null ? Number.POSITIVE_INFINITY : begun_at + lifetime_ms)

/** Once a day, or sooner where a session may be unused for less. Also where the limits have become others. */
export const isDueForRenewal = (limits: SessionLimits, expires_at: number, end: number) =>
  Math.abs(end - expires_at) >= Math.min(DAY_MS, limits.idle_ms / RENEWALS)

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
