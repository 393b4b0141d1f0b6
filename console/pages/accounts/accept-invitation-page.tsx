// Where an invitation leads. Somebody without a confirmed account is asked for a password, somebody with one is not.
import { useState } from 'react'
import { acceptInvitation } from '../../api/account-calls.ts'
import { AccountForm } from '../../parts/account-frame.tsx'
import { Button, LinkButton } from '../../parts/button.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { MailedLink } from '../../parts/mailed-link.tsx'
import { PasswordField } from '../../parts/password-field.tsx'
import { useSession } from '../../state/session.tsx'
import { useSubmission } from '../../state/submission.ts'

export default function AcceptInvitationPage() {
  return <MailedLink title="Accept the invitation">{(token) => <Accept token={token} />}</MailedLink>
}

interface Joining {
  token: string
  password?: string
}

function Accept({ token }: { token: string }) {
  const { state, refresh } = useSession()
  const [password, setPassword] = useState<string>()
  const [joined, setJoined] = useState<{ email: string; role: string }>()
  const sending = useSubmission(async (body: Joining) => {
    setJoined(await acceptInvitation(body))
    setPassword(undefined)
    await refresh()
  })
  // Only the service knows whether the address has an account: it asks for what it needs.
  const asks = password !== undefined || sending.error?.field === 'password'
  if (joined)
    return (
      <>
        <p role="status">
          <strong>{joined.email}</strong> has joined the project as {joined.role}.
        </p>
        <LinkButton to={state.kind === 'signed_in' ? '/' : '/sign-in'} look="primary">
          {state.kind === 'signed_in' ? 'Go on' : 'Sign in'}
        </LinkButton>
      </>
    )
  return (
    <AccountForm onSubmit={() => void sending.submit({ token, ...(password !== undefined && { password }) })}>
      <p>{asks ? 'Choose a password for your new account.' : 'Join the project that you were invited to.'}</p>
      {asks && <PasswordField fresh value={password ?? ''} onChange={setPassword} error={sending.error} />}
      <FormError error={sending.error} fields={['password']} />
      <Button look="primary" type="submit" busy={sending.busy}>
        Accept
      </Button>
    </AccountForm>
  )
}
