// Who is signed in and which project they look at. A 401 from anywhere leads to the sign-in page.
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from 'react'
import type { Scope } from '../../src/core/scopes.ts'
import { lookAt, type SignedIn, signOut, whoAmI } from '../api/account-calls.ts'
import { type ApiError, onSecondFactorMissing, onSignedOut } from '../api/api-client.ts'
import { navigate, pageOf, useProjectInAddress } from './navigation.tsx'
import { samePageElsewhere } from './project-pages.ts'
import { asApiError } from './resource.ts'

export type SessionState =
  | { kind: 'loading' }
  /** `left`: by their own wish; otherwise they want to go on where they are. */
  | { kind: 'signed_out'; left?: true }
  | { kind: 'unreachable'; error: ApiError }
  /** `closed`: the project that asks for a second factor, which they do not have (0365). */
  | { kind: 'signed_in'; me: SignedIn; closed?: string | undefined }

interface SessionValue {
  state: SessionState
  refresh(): Promise<void>
  enter(me: SignedIn): void
  leave(): Promise<void>
  /** To the same page of another project, where it has one. */
  choose(project_id: string): Promise<void>
}

const SessionContext = createContext<SessionValue | undefined>(undefined)

export function SessionProvider({ children }: { children: ReactNode }) {
  const [known, setState] = useState<SessionState>({ kind: 'loading' })
  const asked = useProjectInAddress()
  const state = useMemo(() => seenIn(known, asked), [known, asked])
  const refresh = useCallback(async () => setState(await askWho()), [])

  useEffect(() => {
    void refresh()
    const stops = [
      onSignedOut(() => setState({ kind: 'signed_out' })),
      onSecondFactorMissing((closed) => setState((now) => (now.kind === 'signed_in' ? { ...now, closed } : now))),
    ]
    return () => stops.forEach((stop) => void stop())
  }, [refresh])

  const value = useMemo<SessionValue>(
    () => ({
      state,
      refresh,
      enter: (me) => setState({ kind: 'signed_in', me }),
      async leave() {
        const { sign_out_url } = await signOut()
        setState({ kind: 'signed_out', left: true })
        if (sign_out_url !== undefined) location.assign(sign_out_url) // who came by an identity provider leaves it, too
      },
      async choose(project_id) {
        // Who comes without an address of a project begins with it the next time.
        setState({ kind: 'signed_in', me: await lookAt({ project_id }) })
        navigate(pageOf(project_id, samePageElsewhere(location.pathname, location.search)))
      },
    }),
    [state, refresh],
  )
  return <SessionContext value={value}>{children}</SessionContext>
}

/** 0356: the address says which project is looked at; where it says none, the one that was chosen last. */
function seenIn(state: SessionState, asked: string | undefined): SessionState {
  if (state.kind !== 'signed_in' || asked === undefined) return state
  const { project: _chosen, ...me } = state.me
  const project = me.projects.find(({ id }) => id === asked)
  return { ...state, me: { ...me, ...(project && { project }) } }
}

async function askWho(): Promise<SessionState> {
  try {
    return { kind: 'signed_in', me: await whoAmI() }
  } catch (cause) {
    const error = asApiError(cause)
    return error.status === 401 ? { kind: 'signed_out' } : { kind: 'unreachable', error }
  }
}

export function useSession(): SessionValue {
  const value = useContext(SessionContext)
  if (!value) throw new Error('no SessionProvider above')
  return value
}

/** For pages that are only shown to somebody who is signed in. */
export function useMe(): SignedIn {
  const { state } = useSession()
  if (state.kind !== 'signed_in') throw new Error('nobody is signed in')
  return state.me
}

const ROLE_OF: Record<Scope, readonly string[]> = {
  read: ['owner', 'member', 'viewer'],
  inference: ['owner', 'member'],
  admin: ['owner'],
}

/** R79: whether this is who runs the service: an owner of the project that the first start made, looking at it. */
export const useIsOperator = () => {
  const { project } = useMe()
  return project?.is_operator === true && project.role === 'owner'
}

/** R3: what a role allows. The service decides; this only spares people buttons that would be refused. */
export const useMay = (scope: Scope) => ROLE_OF[scope].includes(useMe().project?.role ?? '')
