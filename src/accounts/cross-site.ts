// T-102: whether a browser sent this on behalf of another site. Browsers send a cookie wherever a page points them; who
// asked for it, they say in headers that no page can set.
import { Refusal } from '../core/refusal.ts'

const SAFE_METHODS = ['GET', 'HEAD', 'OPTIONS']

export interface Told {
  method: string
  /** Ours, as browsers may know them. */
  hosts: readonly string[]
  origin: string | undefined
  sec_fetch_site: string | undefined
}

type Site = 'same' | 'other' | 'unsaid'

function siteOf({ hosts, origin, sec_fetch_site }: Told): Site {
  if (origin === 'null') return 'other' // a sandbox, a file, or somebody hiding
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
    'With a session, changes are only taken from our own pages (Sec-Fetch-Site or Origin). Programs use an API key.',
  )
