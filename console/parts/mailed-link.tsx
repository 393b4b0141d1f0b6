// Pages that the link of a mail opens, or one that the server printed: the secret is taken out of the address at once,
// and forgotten when the page is left.
import { type ReactNode, useEffect, useState } from 'react'
import { dropToken, takeToken } from '../state/navigation.tsx'
import { AccountFrame } from './account-frame.tsx'
import { LinkButton } from './button.tsx'

interface MailedLinkProps {
  title: string
  /** What somebody is told who came without it. */
  without?: string
  children(token: string): ReactNode
}

const WITHOUT = 'This page needs the link from your mail. Open that link once more.'

export function MailedLink({ title, without = WITHOUT, children }: MailedLinkProps) {
  const [token] = useState(takeToken)
  useEffect(() => dropToken, [])
  return (
    <AccountFrame title={title}>
      {token === undefined ? (
        <>
          <p role="alert">{without}</p>
          <LinkButton to="/sign-in">Sign in</LinkButton>
        </>
      ) : (
        children(token)
      )}
    </AccountFrame>
  )
}
