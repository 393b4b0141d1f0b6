// T-102: whether a browser sent this on behalf of another site. Browsers send a cookie wherever a page points them; who
// asked for it, they say in headers that no page can set.
import { Refusal } from '../core/refusal.ts'

const SAFE_METHODS = ['GET', 'HEAD', 'OPTIONS']

export interface Told {
  method: string
  /** Ours, as browsers may know them. None, where the name that led here cannot be ours. */
  hosts: readonly string[]
  origin: string | undefined
  sec_fetch_site: string | undefined
}

type Site = 'same' | 'other' | 'unsaid'

/** `host`: as a browser names it, with its port. */
export function isOfThisMachine(host: string): boolean {
  const name = URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : ''
  return name === 'localhost' || name.endsWith('.localhost') || name === '[::1]' || /^127(\.\d+){3}$/.test(name)
}

function siteOf({ hosts, origin, sec_fetch_site }: Told): Site {
  if (origin === 'null') return 'other' // a sandbox, a file, or somebody hiding
  // Anybody can let a name of theirs lead to this machine: to the browser, their page is then of our own site.
  if (hosts.length === 0 && (origin ?? sec_fetch_site) !== undefined) return 'other'
  if (sec_fetch_site !== undefined) return ['same-origin', 'none'].includes(sec_fetch_site) ? 'same' : 'other'
  if (origin === undefined) return 'unsaid'
  return URL.canParse(origin) && hosts.includes(new URL(origin).host) ? 'same' : 'other'
}

/** With the authority of a cookie nothing is changed unless it is certain that our own page asked. */
export function mustBeOurs(told: Told): void {
  if (!SAFE_METHODS.includes(told.method) && siteOf(told) !== 'same') throw refused()
}

/** Without a cookie's authority, programs are welcome too; pages of other sites are not. */
export function mustNotBeAnothers(told: Told): void {
  if (!SAFE_METHODS.includes(told.method) && siteOf(told) === 'other') throw refused()
}

const refused = () =>
  new Refusal(
    'insufficient_scope',
    'With a session, changes are only taken from our own pages (Sec-Fetch-Site or Origin): those at ' +
      'SWITCHYARD_PUBLIC_URL or, without it, where the server listens. Programs use an API key.',
  )
