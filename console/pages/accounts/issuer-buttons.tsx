// Identity providers that people may sign in with, and what went wrong on the way back from one.
import type { WaysIn } from '../../api/account-calls.ts'
import { useSearch, wantedPage } from '../../state/navigation.tsx'

/** Links, not buttons: the browser leaves this page. Where there are none, nothing is shown. */
export function IssuerButtons({ issuers }: { issuers: WaysIn['data'] }) {
  if (issuers.length === 0) return null
  const to = wantedPage()
  const query = to === '/' ? '' : `?to=${encodeURIComponent(to)}`
  return (
    <ul className="issuers" aria-label="Identity providers">
      {issuers.map(({ id, name, sign_in_path }) => (
        <li key={id}>
          <a className="button button-plain" href={`${sign_in_path}${query}`}>
            <span className="button-label">Continue with {name}</span>
          </a>
        </li>
      ))}
    </ul>
  )
}

const PROBLEMS: Record<string, string> = {
  unknown_issuer: 'There is no such identity provider here.',
  issuer_away: 'The identity provider cannot be reached. Try again in a moment.',
  issuer_set_up: 'The identity provider does not accept this server’s client settings. Ask whoever runs the server.',
  no_state: 'That sign-in was not begun in this browser, was finished before, or took longer than 10 minutes.',
  denied: 'The identity provider did not sign you in.',
  dead_code: 'The code of that sign-in was used before or has lapsed. Begin again.',
  expired_token: 'What the identity provider sent has expired. Begin again.',
  wrong_nonce: 'What the identity provider sent is of another sign-in. Begin again.',
  wrong_token: 'What the identity provider sent is not valid for this server.',
  unverified_email:
    'The identity provider does not say that your e-mail address is verified, which a first sign-in needs.',
  other_issuer: 'People of your mail domain sign in with another identity provider here.',
  address_taken:
    'There is an account with your e-mail address, and that identity provider is not trusted for its domain. ' +
    'Sign in as before.',
  no_account: 'You have no account here yet. Ask somebody in the project for an invitation.',
  rate_limited: 'Too many failed sign-ins from your address. Try again in 10 minutes.',
}

/** Only what is known here is shown: an address can say anything. */
export function IssuerProblem() {
  const problem = new URLSearchParams(useSearch()).get('problem')
  if (problem === null) return null
  return (
    <p role="alert" className="notice notice-danger">
      {(Object.hasOwn(PROBLEMS, problem) && PROBLEMS[problem]) || 'You could not be signed in. Try again.'}
    </p>
  )
}
