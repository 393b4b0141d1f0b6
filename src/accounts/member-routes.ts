// /v2/members: who belongs to the project, and as what.

import { Type } from 'typebox'
import type { Clock } from '../core/clock.ts'
import { allows } from '../core/scopes.ts'
import { listOf } from '../core/shapes.ts'
import { found, list, type Routes } from '../http/routes.ts'
import type { Db } from '../storage/db.ts'
import { emailAddress } from './account.ts'
import type { AccountNeeds } from './account-request-store.ts'
import { attemptStore } from './attempt-store.ts'
import { INVITATIONS_OF_ALL_TO_ONE, INVITATIONS_TO_ONE, mailsOfProject } from './attempts.ts'
import { invitationLetter, linkTo } from './letters.ts'
import {
  alreadyMember,
  foundersStay,
  INVITATION_LIFE_MS,
  Member,
  NewInvitation,
  NewRole,
  RemovedMember,
  withoutAddress,
} from './member.ts'
import { invitationsPresent, memberStore } from './member-store.ts'
import { projectStore } from './project-store.ts'
import type { Role } from './roles.ts'
import { savedViewRoutes } from './saved-view-routes.ts'

const Params = Type.Object({ person_id: Type.String({ description: 'Begins `usr_`; `inv_` for an invitation.' }) })
const manage = { scope: 'admin', class: 'read' } as const
const tags = ['Members']

type Needs = AccountNeeds & {
  clock: Clock
  /** R78: how many mails a project may send in a day. */
  mailsPerDay(db: Db, project_id: string): Promise<number>
}

export const memberRoutes: Routes<Needs> = async (app, { clock, ...needs }) => {
  await app.register(savedViewRoutes, { clock })

  app.get(
    '/v2/members',
    {
      config: { scope: 'read', class: 'read' },
      schema: {
        tags,
        summary: 'List members and open invitations, newest first',
        description: 'With their addresses for those who have the `admin` scope.',
        response: { 200: listOf(Member) },
      },
    },
    async ({ caller: { project_id, scopes }, db }) => {
      const members = await memberStore(db).list(project_id, clock.now())
      return list(allows(scopes, 'admin') ? members : members.map(withoutAddress)) // R74
    },
  )

  app.post(
    '/v2/members/invitations',
    {
      config: { ...manage, verified_owner: true, adds: { kind: 'invitations', present: invitationsPresent } },
      schema: {
        tags,
        summary: 'Invite somebody',
        description:
          'Mails a link that works once, within 7 days. A second invitation takes the place of the first. At most 5 ' +
          'to one address in a day, those that were withdrawn included.',
        body: NewInvitation,
        response: { 200: Member },
      },
    },
    async ({ caller, body: { email, role }, db }) =>
      db.transaction((tx) => invite(tx, { project_id: caller.project_id, email, role }, needs, clock.now())),
  )

  app.post(
    '/v2/members/:person_id/role',
    {
      config: manage,
      schema: {
        tags,
        summary: 'Change a role',
        description: 'Of a member, from the next request on; of an invitation, what accepting it gives.',
        params: Params,
        body: NewRole,
        response: { 200: Member },
      },
    },
    async ({ caller: { project_id }, params: { person_id: id }, body: { role }, db }) => {
      const invited = await memberStore(db).setInvitedRole(project_id, id, role, clock.now())
      if (invited) return invited
      const { is_founder, ...member } = found(await memberStore(db).find(project_id, id), 'member', id)
      if (is_founder) throw foundersStay()
      await memberStore(db).setRole(project_id, id, role)
      return { ...member, role }
    },
  )

  app.delete(
    '/v2/members/:person_id',
    {
      config: manage,
      schema: {
        tags,
        summary: 'Remove a member, or withdraw an invitation',
        description: 'Takes effect at once.',
        params: Params,
        response: { 200: RemovedMember },
      },
    },
    async ({ caller: { project_id }, params: { person_id: id }, db }) => {
      const members = memberStore(db)
      if (!(await members.withdraw(project_id, id))) {
        const { is_founder } = found(await members.find(project_id, id), 'member', id)
        if (is_founder) throw foundersStay()
        await members.remove(project_id, id)
      }
      return { id, object: 'member.removed' as const, removed: true as const }
    },
  )
}

interface Inviting {
  project_id: string
  email: string
  role: Role
}

type Inviters = Omit<Needs, 'clock'>

async function invite(
  tx: Db,
  inviting: Inviting,
  { post, publicUrl, mailsPerDay }: Inviters,
  now: number,
): Promise<Member> {
  const { project_id, role } = inviting
  const email = emailAddress(inviting.email)
  const members = memberStore(tx)
  if (await members.hasAddress(project_id, email)) throw alreadyMember(email)
  const mails = attemptStore(tx)
  await mails.takeOrRefuse(mailsOfProject(await mailsPerDay(tx, project_id)), project_id, now)
  await mails.takeOrRefuse(INVITATIONS_TO_ONE, `${project_id} ${email}`, now)
  await mails.takeOrRefuse(INVITATIONS_OF_ALL_TO_ONE, email, now)
  const { secret, member } = await members.invite(project_id, { email, role }, now)
  const { name } = found(await projectStore(tx).find(project_id), 'project', project_id)
  const [link, good_until_ms] = [linkTo(publicUrl(), 'accept-invitation', secret), now + INVITATION_LIFE_MS]
  await post(tx, invitationLetter({ to: email, link, good_until_ms, project: name, role }), now)
  return member
}
