// The project, its people, its credentials and subscriptions, and the audit log, as the settings use them.
import type { Static } from 'typebox'
import type { Member, NewInvitation, NewRole, RemovedMember } from '../../src/accounts/member.ts'
import type {
  ProjectBoundary,
  ProjectCap,
  ProjectName,
  ProjectRecordings,
  ProjectSecondFactor,
  ProjectState,
  RegionPolicy,
} from '../../src/accounts/project.ts'
import type { AuditEntry, AuditQuery } from '../../src/audit/audit.ts'
import type { Credential, NewCredential, RevokedCredential } from '../../src/credentials/credential.ts'
import type { NewSubscription, Subscription } from '../../src/subscriptions/subscription.ts'
import { del, get, post } from './api-client.ts'

export type { AuditEntry, Credential, Member, NewCredential, NewSubscription, ProjectState, Subscription }
export type Role = Member['role']

const listed =
  <T>(path: string) =>
  async (signal?: AbortSignal): Promise<readonly T[]> =>
    (await get<{ data: T[] }>(path, signal)).data

export const renameProject = (body: Static<typeof ProjectName>) => post<ProjectState>('/v2/project/name', body)
export const setCap = (body: Static<typeof ProjectCap>) => post<ProjectState>('/v2/project/cap', body)
export const setBoundary = (body: Static<typeof ProjectBoundary>) => post<ProjectState>('/v2/project/boundary', body)
export const setRecordings = (body: Static<typeof ProjectRecordings>) =>
  post<ProjectState>('/v2/project/recordings', body)
export const setSecondFactor = (body: Static<typeof ProjectSecondFactor>) =>
  post<ProjectState>('/v2/project/second-factor', body)
export const setRegions = (body: RegionPolicy) => post<ProjectState>('/v2/project/regions', body)

export const listMembers = listed<Member>('/v2/members')
export const invite = (body: Static<typeof NewInvitation>, idempotency_key: string) =>
  post<Member>('/v2/members/invitations', body, idempotency_key)
export const setRole = (id: string, body: Static<typeof NewRole>) => post<Member>(`/v2/members/${id}/role`, body)
export const removeMember = (id: string) => del<Static<typeof RemovedMember>>(`/v2/members/${id}`)

const CREDENTIALS = '/v2/provider-credentials'
export const listCredentials = listed<Credential>(CREDENTIALS)
export const enterCredential = (body: NewCredential, idempotency_key: string) =>
  post<Credential>(CREDENTIALS, body, idempotency_key)
export const verifyCredential = (id: string) => post<Credential>(`${CREDENTIALS}/${id}/verify`)
export const revokeCredential = (id: string) => del<Static<typeof RevokedCredential>>(`${CREDENTIALS}/${id}`)

/** R79: of this project, or of any for whoever runs the service. */
const subscriptionsOf = (project_id: string | undefined) =>
  project_id === undefined ? '/v2/subscriptions' : `/v2/operator/projects/${project_id}/subscriptions`
export const listSubscriptions = (project_id: string | undefined, signal?: AbortSignal) =>
  listed<Subscription>(subscriptionsOf(project_id))(signal)
export const addSubscription = (project_id: string | undefined, body: NewSubscription, idempotency_key: string) =>
  post<Subscription>(subscriptionsOf(project_id), body, idempotency_key)
export const cancelSubscription = (project_id: string | undefined, id: string) =>
  post<Subscription>(`${subscriptionsOf(project_id)}/${id}/cancel`)

export const auditLog = (query: Static<typeof AuditQuery>, signal?: AbortSignal) =>
  listed<AuditEntry>(`/v2/audit-log?${new URLSearchParams(query)}`)(signal)
