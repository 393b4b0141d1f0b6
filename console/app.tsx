// Which page is shown, to whom: open pages to everybody, the project's to whoever is signed in.
import { Component, type ReactNode, Suspense, useEffect } from 'react'
import { OPEN_PAGES, PROJECT_PAGES } from './pages.tsx'
import { Button, LinkButton } from './parts/button.tsx'
import { LoadFailure } from './parts/load-failure.tsx'
import { PageHeader } from './parts/page-header.tsx'
import { Toasts } from './parts/toasts.tsx'
import { Shell } from './shell.tsx'
import { here, matchPath, navigate, signInFor, usePath } from './state/navigation.tsx'
import { SessionProvider, useSession } from './state/session.tsx'
import { listenForShortcuts } from './state/shortcuts.ts'

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
  useEffect(() => {
    if (state.kind === 'signed_out') navigate(signInFor(state.left ? '/' : here()), { replace: true })
  }, [state])
  if (state.kind === 'unreachable')
    return (
      <main className="alone">
        <LoadFailure what="Your session" error={state.error} onRetry={() => void refresh()} />
      </main>
    )
  if (state.kind !== 'signed_in') return <Waiting />
  return (
    // Another project is another set of pages: nothing of the one before stays on screen.
    <Shell key={state.me.project?.id}>
      <Suspense fallback={<Waiting />}>
        <Found path={path} />
      </Suspense>
    </Shell>
  )
}

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

/** A page that breaks takes nothing else with it, and a part that could not be loaded can be asked for again. */
class Fallback extends Component<{ children: ReactNode }, { failed: boolean }> {
  override state = { failed: false }

  static getDerivedStateFromError() {
    return { failed: true }
  }

  override render() {
    if (!this.state.failed) return this.props.children
    return (
      <main className="alone">
        <div className="notice notice-danger notice-row" role="alert">
          <span>
            <strong>This page could not be shown.</strong> The server may have been updated, or be out of reach.
          </span>
          <Button onClick={() => location.reload()}>Reload</Button>
        </div>
      </main>
    )
  }
}
