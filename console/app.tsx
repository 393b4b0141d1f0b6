// Which page is shown, to whom: open pages to everybody, the project's to whoever is signed in.
import { Component, lazy, type ReactNode, Suspense, useEffect } from 'react'
import type { SignedIn } from './api/account-calls.ts'
import { OPEN_PAGES, PROJECT_PAGES } from './pages.tsx'
import { Button, LinkButton } from './parts/button.tsx'
import { LoadFailure } from './parts/load-failure.tsx'
import { PageHeader } from './parts/page-header.tsx'
import { ProjectLinks } from './parts/project-links.tsx'
import { Toasts } from './parts/toasts.tsx'
import { Shell } from './shell.tsx'
import { here, matchPath, navigate, pageOf, signInFor, usePath, useProjectInAddress } from './state/navigation.tsx'
import { SessionProvider, useSession } from './state/session.tsx'
import { listenForShortcuts } from './state/shortcuts.ts'

const SecondStepFirst = lazy(() => import('./pages/accounts/second-step-first.tsx'))

export const App = () => (
  <SessionProvider>
    <Toasts>
      <Fallback>
        <Suspense fallback={<Waiting />}>
          <Current />
        </Suspense>
      </Fallback>
    </Toasts>
  </SessionProvider>
)

const Waiting = () => (
  <p className="waiting" role="status">
    Loading …
  </p>
)

function Current() {
  const path = usePath()
  useEffect(listenForShortcuts, [])
  for (const { path: pattern, Page } of OPEN_PAGES) if (matchPath(pattern, path)) return <Page key={path} />
  return <ProjectPage path={path} />
}

function ProjectPage({ path }: { path: string }) {
  const { state, refresh } = useSession()
  const asked = useProjectInAddress()
  const first = state.kind === 'signed_in' ? (state.me.project ?? state.me.projects[0])?.id : undefined
  useEffect(() => {
    if (state.kind === 'signed_out') navigate(signInFor(state.left ? '/' : here()), { replace: true, outside: true })
    else if (first !== undefined && asked === undefined) navigate(pageOf(first, here()), { replace: true, stay: true })
  }, [state, asked, first])
  if (state.kind === 'unreachable')
    return (
      <main className="alone">
        <LoadFailure what="Your session" error={state.error} onRetry={() => void refresh()} />
      </main>
    )
  if (state.kind !== 'signed_in' || (asked === undefined && first !== undefined)) return <Waiting />
  if (asked !== undefined && !state.me.project) return <NoSuchProject me={state.me} />
  if (state.closed !== undefined && state.closed === state.me.project?.id) return <SecondStepFirst me={state.me} />
  return (
    // Another project is another set of pages: nothing of the one before stays on screen.
    <Shell key={state.me.project?.id}>
      <Fallback key={path} within>
        <Suspense fallback={<Waiting />}>
          <Found path={path} />
        </Suspense>
      </Fallback>
    </Shell>
  )
}

/** An address of somebody else's project, or of none. Nothing is told of it, not even whether it exists. */
const NoSuchProject = ({ me: { person, projects } }: { me: SignedIn }) => (
  <main className="alone">
    <div className="card stack">
      <PageHeader
        title="You have no such project"
        lead={`The address may be mistyped, or ${person.email} is not a member of it. Its owners can invite you.`}
      />
      <ProjectLinks projects={projects} />
    </div>
  </main>
)

function Found({ path }: { path: string }) {
  for (const { path: pattern, Page } of PROJECT_PAGES) {
    const params = matchPath(pattern, path)
    if (params) return <Page key={path} {...params} />
  }
  return (
    <>
      <PageHeader title="There is no such page" lead="The address may be mistyped, or the page has moved." />
      <LinkButton to="/">Go to the start</LinkButton>
    </>
  )
}

/**
 * A page that breaks takes nothing else with it: the frame around it stays, and leads to other pages. A part that could
 * not be loaded can be asked for again.
 */
class Fallback extends Component<{ children: ReactNode; within?: boolean }, { failed: boolean }> {
  override state = { failed: false }

  static getDerivedStateFromError() {
    return { failed: true }
  }

  override render() {
    if (!this.state.failed) return this.props.children
    const told = (
      <div className="notice notice-danger notice-row" role="alert">
        <span>
          <strong>This page could not be shown.</strong> The server cannot be reached, or was updated.
        </span>
        <Button onClick={() => location.reload()}>Reload</Button>
      </div>
    )
    return this.props.within ? told : <main className="alone">{told}</main>
  }
}
