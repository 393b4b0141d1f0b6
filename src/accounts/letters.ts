// What is written to people: plain text, short, one link at most. The secret of a link stands behind its `#`, so that
// it never reaches a server's log.
import { HOUR_MS } from '../core/clock.ts'
import { spokenName } from '../core/spoken-name.ts'
import type { Role } from './roles.ts'

export interface Letter {
  to: string
  subject: string
  text: string
  link?: string
  /** Nobody needs it any more after this. */
  good_until_ms: number
}

const NOTICE_LIFE_MS = 24 * HOUR_MS

/** Where a link leads: pages that send its secret to the endpoint of the same name. */
export const linkTo = (public_url: string, page: string, secret: string) =>
  `${public_url}/console/${page}#token=${secret}`

interface Linked {
  to: string
  link: string
  good_until_ms: number
}

export const verificationLetter = ({ to, link, good_until_ms }: Linked): Letter => ({
  to,
  link,
  good_until_ms,
  subject: 'Confirm your e-mail address',
  text: `Welcome to Switchyard.

Confirm your e-mail address with this link. It works once, within 24 hours:

${link}

If you did not sign up, do not open it, and nothing happens.
`,
})

export const knownAddressLetter = (to: string, now: number): Letter => ({
  to,
  good_until_ms: now + NOTICE_LIFE_MS,
  subject: 'You already have an account',
  text: `Somebody signed up at Switchyard with your e-mail address, which already has an account.

If it was you, log in, or ask for a password reset. If it was not, there is nothing to do.
`,
})

export const resetLetter = ({ to, link, good_until_ms }: Linked): Letter => ({
  to,
  link,
  good_until_ms,
  subject: 'Choose a new password',
  text: `Choose a new password with this link. It works once, within an hour:

${link}

It signs you out everywhere. If you did not ask for it, do not open it, and nothing happens.
`,
})

export const changedPasswordLetter = (to: string, now: number): Letter => ({
  to,
  good_until_ms: now + NOTICE_LIFE_MS,
  subject: 'Your password was changed',
  text: `The password of your Switchyard account was changed, and you were signed out everywhere.

If it was not you, ask for a password reset at once.
`,
})

export const invitationLetter = ({ to, link, good_until_ms, project, role }: Linked & Invited): Letter => ({
  to,
  link,
  good_until_ms,
  subject: 'You are invited to a project',
  text: `You are invited to the Switchyard project "${spokenName(project)}" as ${role}.

Accept with this link. It works once, within 7 days:

${link}

If you do not know the project, do not open it, and nothing happens.
`,
})

interface Invited {
  project: string
  role: Role
}
