// The frame around every page of a project: where one can go, which project it is, who is signed in.
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react'
import { createPortal } from 'react-dom'
import { attention } from './api/insight-calls.ts'
import { NAVIGATION } from './pages.tsx'
import { Brand } from './parts/brand.tsx'
import { ShortcutsHelp } from './parts/shortcuts-help.tsx'
import { ThemeSwitch } from './parts/theme-switch.tsx'
import { useToast } from './parts/toasts.tsx'
import { useFirstStepsOver } from './state/first-steps-over.ts'
import { Link, navigate, usePath } from './state/navigation.tsx'
import { useResource } from './state/resource.ts'
import { useIsOperator, useMe, useSession } from './state/session.tsx'
import { useShortcut } from './state/shortcuts.ts'
import { useSubmission } from './state/submission.ts'
import { countInTitle } from './state/window-title.ts'

export function Shell({ children }: { children: ReactNode }) {
  const [open, setOpen] = useState(false)
  const path = usePath()
  const is_operator = useIsOperator()
  const { project } = useMe()
  const first_steps_over = useFirstStepsOver(project?.id)
  const shown = NAVIGATION.filter(
    ({ to, operator }) => (!operator || is_operator) && (to !== '/start' || first_steps_over === false || path === to),
  )
  return (
    <div className="shell">
      <a className="skip" href="#content">
        Skip to content
      </a>
      <header className="top">
        <Link to="/" className="brand-link">
          <Brand />
        </Link>
        <button
          type="button"
          className="button button-plain menu-button"
          aria-expanded={open}
          aria-controls="side"
          onClick={() => setOpen(!open)}
        >
          Menu
        </button>
      </header>
      <aside id="side" className="side" aria-label="Menu" data-open={open || undefined}>
        <ProjectChoice />
        <SearchEverything />
        <nav aria-label="Project">
          <ul>
            {shown.map(({ to, label, keys, also = to, ...more }) => (
              <NavigationEntry
                key={to}
                {...{ to, label, keys }}
                beside={more.counts_attention && <AttentionCount />}
                current={[to, also].some((at) => path === at || path.startsWith(`${at}/`))}
                onFollow={() => setOpen(false)}
              />
            ))}
          </ul>
        </nav>
        <div className="side-foot">
          <a className="side-link" href="/docs/">
            API reference
          </a>
          <ShortcutsHelp />
          <ThemeSwitch />
          <Account />
        </div>
      </aside>
      <main id="content" className="content" tabIndex={-1}>
        {children}
      </main>
    </div>
  )
}

const CommandPalette = lazy(() => import('./command-palette.tsx'))
const IS_MAC = /Mac|iP(hone|ad)/.test(navigator.userAgent)

function SearchEverything() {
  const [open, setOpen] = useState(false)
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey) || event.altKey || event.shiftKey) return
      event.preventDefault()
      if (!document.querySelector('dialog[open]')) setOpen(true)
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
  return (
    <>
      <button type="button" className="side-search" aria-keyshortcuts="Meta+K Control+K" onClick={() => setOpen(true)}>
        Search <kbd>{IS_MAC ? '⌘' : 'Ctrl'} K</kbd>
      </button>
      {/* Not in the menu, which is not drawn while it is closed on a phone. */}
      {open &&
        createPortal(
          <Suspense>
            <CommandPalette onClose={() => setOpen(false)} />
          </Suspense>,
          document.body,
        )}
    </>
  )
}

interface EntryProps {
  to: string
  label: string
  keys: string
  current: boolean
  beside?: ReactNode
  onFollow(): void
}

function NavigationEntry({ to, label, keys, current, beside, onFollow }: EntryProps) {
  useShortcut(keys, `Go to ${label}`, () => navigate(to))
  return (
    <li>
      <Link to={to} aria-current={current ? 'page' : undefined} className="side-link" onClickCapture={onFollow}>
        {label}
        {beside}
      </Link>
    </li>
  )
}

const ATTENTION_POLL_MS = 60_000

/** How many things somebody should look at; nothing where there are none, or it is not known. */
function AttentionCount() {
  const { state } = useResource(attention, { poll_ms: ATTENTION_POLL_MS })
  const waiting = state.kind === 'ready' ? state.value.length : 0 // as many as the list has
  useEffect(() => {
    countInTitle(waiting)
    return () => countInTitle(0)
  }, [waiting])
  if (waiting === 0) return null
  return (
    <span className="side-count">
      {waiting}
      <span className="visually-hidden"> need attention</span>
    </span>
  )
}

function ProjectChoice() {
  const { project, projects } = useMe()
  const { choose } = useSession()
  const say = useToast()
  const switching = useSubmission(choose)
  if (projects.length < 2)
    return (
      <p className="project" title={project?.id}>
        <span className="muted">Project</span>
        {project?.name ?? 'none'}
      </p>
    )
  async function change(id: string) {
    if (!(await switching.submit(id))) say('The project could not be changed. Try again.')
  }
  return (
    <label className="project">
      <span className="muted">Project</span>
      <select value={project?.id} disabled={switching.busy} onChange={(event) => void change(event.target.value)}>
        {projects.map(({ id, name }) => (
          <option key={id} value={id}>
            {projects.some((other) => other.id !== id && other.name === name) ? `${name} (${id.slice(-4)})` : name}
          </option>
        ))}
      </select>
    </label>
  )
}

function Account() {
  const { person, project } = useMe()
  const { leave } = useSession()
  const say = useToast()
  const leaving = useSubmission((_: undefined) => leave())
  async function signOut() {
    if (!(await leaving.submit(undefined))) say('You could not be signed out. Try again.')
  }
  return (
    <div className="account">
      <span className="account-email" title={person.email}>
        {person.email}
      </span>
      <span className="account-row">
        <span className="muted">{project?.role}</span>
        <button type="button" className="text-button" onClick={() => void signOut()}>
          Sign out
        </button>
      </span>
    </div>
  )
}
