// Where the link in the first mail leads. It asks for a click: programs that open links in mails must not confirm them.
import { useState } from 'react'
import { verifyEmail } from '../../api/account-calls.ts'
import { Button, LinkButton } from '../../parts/button.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { MailedLink } from '../../parts/mailed-link.tsx'
import { navigate } from '../../state/navigation.tsx'
import { useSession } from '../../state/session.tsx'
import { useSubmission } from '../../state/submission.ts'

export default function VerifyEmailPage() {
  return <MailedLink title="Confirm your e-mail address">{(token) => <Confirm token={token} />}</MailedLink>
}

function Confirm({ token }: { token: string }) {
  const { state, enter, refresh } = useSession()
  const [confirmed, setConfirmed] = useState<string>()
  const sending = useSubmission(async (body: { token: string }) => {
    const { email, session } = await verifyEmail(body)
    setConfirmed(email)
    if (!session) return refresh()
    enter(session) // this browser signed up: it is signed in
    navigate('/', { replace: true })
  })
  if (confirmed !== undefined)
    return (
      <>
        <p role="status">
          <strong>{confirmed}</strong> is confirmed. You can make keys now.
        </p>
        <LinkButton to={state.kind === 'signed_in' ? '/' : '/sign-in'} look="primary">
          {state.kind === 'signed_in' ? 'Go on' : 'Sign in'}
        </LinkButton>
      </>
    )
  return (
    <>
      <p>One click, and you can make keys.</p>
      <FormError error={sending.error} fields={[]} />
      <Button look="primary" busy={sending.busy} onClick={() => void sending.submit({ token })}>
        Confirm
      </Button>
    </>
  )
}
