// Who belongs to a project, and who is asked to (§5.6: only where the project's owner is verified).
import { type Static, Type } from 'typebox'
import { HOUR_MS } from '../core/clock.ts'
import { Refusal } from '../core/refusal.ts'
import { time } from '../core/shapes.ts'
import { Role } from './roles.ts'

export const INVITATION_LIFE_MS = 7 * 24 * HOUR_MS

export const Email = Type.String({ minLength: 3, maxLength: 320, description: 'An e-mail address.' })

export const Member = Type.Object(
  {
    id: Type.String({ description: 'Begins `usr_`, or `inv_` while the invitation is open.' }),
    object: Type.Literal('member'),
    email: Type.Optional(Type.String({ description: 'Only for those with the `admin` scope.' })),
    role: Role,
    status: Type.Enum(['active', 'invited']),
    created_at: time(),
  },
  { title: 'Member' },
)
export type Member = Static<typeof Member>

/** R74. */
export const withoutAddress = ({ email: _theirs, ...member }: Member): Member => member

export const NewInvitation = Type.Object({ email: Email, role: Role }, { title: 'NewInvitation' })
export const NewRole = Type.Object({ role: Role }, { title: 'NewRole' })
export const RemovedMember = Type.Object(
  { id: Type.String(), object: Type.Literal('member.removed'), removed: Type.Literal(true) },
  { title: 'RemovedMember' },
)

export const foundersStay = () =>
  new Refusal('invalid_request', 'The person who owns the project stays its owner: their role cannot be changed.')

export const alreadyMember = (email: string) =>
  new Refusal('invalid_request', `'email' must be of somebody who is not a member yet; ${email} is one.`)
