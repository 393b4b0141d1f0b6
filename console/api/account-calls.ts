// /auth and /v2/project as the pages use them. The shapes are those that the service validates with.
import type { Static } from 'typebox'
import type { WaysIn as WaysInShape } from '../../src/accounts/issuer-routes.ts'
import type { OwnerClaim as OwnerClaimShape } from '../../src/accounts/owner-link-routes.ts'
import type { ProjectState } from '../../src/accounts/project.ts'
import type { Enrolment, SecondFactor } from '../../src/accounts/second-factor.ts'
import type { Begin, Confirm, Enabled, Remove } from '../../src/accounts/second-factor-routes.ts'
import type { SignedIn } from '../../src/accounts/sign-in.ts'
import type { Credentials, Ended, InView } from '../../src/accounts/sign-in-routes.ts'
import type {
  Acceptance,
  Changed,
  Joined,
  Mailed,
  NewPassword,
  Reset,
  SignUp,
  Verification,
  Verified,
} from '../../src/accounts/sign-up-routes.ts'
import { get, post } from './api-client.ts'

export type { Enrolment, ProjectState, SignedIn }
export type WaysIn = Static<typeof WaysInShape>
export type OwnerClaim = Static<typeof OwnerClaimShape>

export const whoAmI = () => get<SignedIn>('/auth/me')
export const signIn = (body: Static<typeof Credentials>) => post<SignedIn>('/auth/login', body)
export const waysIn = (signal?: AbortSignal) => get<WaysIn>('/auth/issuers', signal)
export const signOut = () => post<Static<typeof Ended>>('/auth/logout')
export const lookAt = (body: Static<typeof InView>) => post<SignedIn>('/auth/project', body)
export const signUp = (body: Static<typeof SignUp>) => post<Static<typeof Mailed>>('/auth/signup', body)
export const askForReset = (body: Static<typeof Reset>) => post<Static<typeof Mailed>>('/auth/password-reset', body)
export const verifyEmail = (body: Static<typeof Verification>) =>
  post<Static<typeof Verified>>('/auth/verify-email', body)
export const choosePassword = (body: Static<typeof NewPassword>) =>
  post<Static<typeof Changed>>('/auth/password-reset/confirm', body)
export const acceptInvitation = (body: Static<typeof Acceptance>) =>
  post<Static<typeof Joined>>('/auth/accept-invitation', body)

export const secondFactor = (signal?: AbortSignal) => get<SecondFactor>('/auth/second-factor', signal)
export const beginSecondFactor = (body: Static<typeof Begin>) => post<Enrolment>('/auth/second-factor', body)
export const confirmSecondFactor = (body: Static<typeof Confirm>) =>
  post<Static<typeof Enabled>>('/auth/second-factor/confirm', body)
export const removeSecondFactor = (body: Static<typeof Remove>) =>
  post<SecondFactor>('/auth/second-factor/remove', body)

export const becomeOwner = (body: OwnerClaim) => post<SignedIn>('/auth/become-owner', body)

export const theProject = (signal?: AbortSignal) => get<ProjectState>('/v2/project', signal)
