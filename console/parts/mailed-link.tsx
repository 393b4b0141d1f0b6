// Pages that a mail's link opens: the secret is taken out of the address at once, and forgotten when the page is left.
import { type ReactNode, useEffect, useState } from 'react'
import { dropToken, takeToken } from '../state/navigation.tsx'
import { AccountFrame } from './account-frame.tsx'
import { LinkButton } from './button.tsx'

interface MailedLinkProps {
  title: string
  children(token: string): ReactNode
}

export function MailedLink({ title, children }: MailedLinkProps) {
  const [token] = useState(takeToken)
  useEffect(() => dropToken, [])
  return (
    <AccountFrame title={title}>
      {token === undefined ? (
        <>
          <p role="alert">This page needs the link from your mail. Open that link once more.</p>
          <LinkButton to="/sign-in">Sign in</LinkButton>
        </>
      ) : (
        children(token)
      )}
    </AccountFrame>
  )
}
