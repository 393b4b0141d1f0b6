// Where we are: the project and the page in the address below /console, links that change it without a reload, and what
// a mail's link brought.
import { type ComponentProps, type MouseEvent, useSyncExternalStore } from 'react'
import { keepPlace, newPlace, restorePlace } from './scroll-places.ts'

const BASE = '/console'
/** 0356: an address of a project's page begins with the project. */
const PROJECT = /^\/(prj_\w+)(?=[/?]|$)/

let arrived = false

/** Whether somebody has come to another page, and nothing there has taken the focus yet. */
export function takeArrival(): boolean {
  const is_new = arrived
  arrived = false
  return is_new
}

/** Back and forward: to the same place, with the focus on the page. */
export function followHistory(): void {
  history.scrollRestoration = 'manual'
  let path = location.pathname
  window.addEventListener('popstate', () => {
    if (location.pathname !== path) arrived = true
    path = location.pathname
    restorePlace()
  })
  listeners.add(() => {
    path = location.pathname
  })
}

const listeners = new Set<() => void>()

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  window.addEventListener('popstate', listener)
  return () => {
    listeners.delete(listener)
    window.removeEventListener('popstate', listener)
  }
}

const belowBase = () => location.pathname.slice(BASE.length)

const currentPath = () => belowBase().replace(PROJECT, '').replace(/\/+$/, '') || '/'

export const usePath = () => useSyncExternalStore(subscribe, currentPath)

export const projectInAddress = () => PROJECT.exec(belowBase())?.[1]

export const useProjectInAddress = () => useSyncExternalStore(subscribe, projectInAddress)

/** A page of a project, whichever is in view now. */
export const pageOf = (project_id: string, to: string) => `/${project_id}${to === '/' ? '' : to}`

/** This page of this project with what it shows, as `navigate` takes it. */
export function here(): string {
  const project_id = projectInAddress()
  const to = currentPath() + location.search
  return project_id === undefined ? to : pageOf(project_id, to)
}

/** Signing in leads on to where somebody wanted to go. */
export const signInFor = (to: string) => (to === '/' ? '/sign-in' : `/sign-in?to=${encodeURIComponent(to)}`)

/** A path of the console, or the home page: never an address of somebody else's making. */
export function wantedPage(): string {
  const to = new URLSearchParams(location.search).get('to') ?? '/'
  return /^\/(?![/\\])/.test(to) && !to.startsWith('/sign-in') ? to : '/'
}

/** A page without a project is of the one in view. */
export function addressOf(to: string): string {
  const project_id = projectInAddress()
  const whole = project_id === undefined || PROJECT.test(to) ? to : pageOf(project_id, to)
  return `${BASE}${whole === '/' ? '' : whole}`
}

/** What stands behind the question mark. */
export const useSearch = () => useSyncExternalStore(subscribe, () => location.search.slice(1))

/** `stay`: another view of the same page, which does not jump to its top. `outside`: a page of no project. */
export function navigate(to: string, { replace = false, stay = false, outside = false } = {}): void {
  const address = outside ? `${BASE}${to}` : addressOf(to)
  if (replace) history.replaceState(history.state, '', address)
  else {
    keepPlace()
    history.pushState(newPlace(), '', address)
  }
  if (!stay) {
    arrived = true
    window.scrollTo(0, 0)
  }
  for (const listener of listeners) listener()
}

type LinkProps = Omit<ComponentProps<'a'>, 'href'> & { to: string }

export function Link({ to, ...more }: LinkProps) {
  const follow = (event: MouseEvent) => {
    // A new tab or window is the browser's business.
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    navigate(to)
  }
  return <a {...more} href={addressOf(to)} onClick={follow} />
}

/** `/keys/:id` against `/keys/key_1` gives `{ id: 'key_1' }`; undefined where it does not match. */
export function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const [wanted, given] = [pattern.split('/'), path.split('/')]
  if (wanted.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [at, part] of wanted.entries()) {
    const value = given[at] ?? ''
    if (part.startsWith(':')) params[part.slice(1)] = decoded(value)
    else if (part !== value) return undefined
  }
  return params
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

let taken: string | undefined

/** The secret behind `#token=`. It leaves the address bar, and so the history, as soon as it was read. */
export function takeToken(): string | undefined {
  const [, token] = /^#token=(\w+)$/.exec(location.hash) ?? []
  if (token === undefined) return taken
  taken = token
  history.replaceState(history.state, '', location.pathname)
  return token
}

/** Once it was used, or its page was left. */
export function dropToken(): void {
  taken = undefined
}
