// Where the link of a password reset leads.
import { useState } from 'react'
import { choosePassword } from '../../api/account-calls.ts'
import { AccountForm } from '../../parts/account-frame.tsx'
import { Button, LinkButton } from '../../parts/button.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { MailedLink } from '../../parts/mailed-link.tsx'
import { PasswordField } from '../../parts/password-field.tsx'
import { useSession } from '../../state/session.tsx'
import { useSubmission } from '../../state/submission.ts'

export default function PasswordResetPage() {
  return <MailedLink title="Choose a new password">{(token) => <Choose token={token} />}</MailedLink>
}

function Choose({ token }: { token: string }) {
  const { refresh } = useSession()
  const [password, setPassword] = useState('')
  const [changed, setChanged] = useState(false)
  const sending = useSubmission(async (body: { token: string; password: string }) => {
    await choosePassword(body)
    setPassword('')
    setChanged(true)
    await refresh() // all sessions have ended, this one too
  })
  if (changed)
    return (
      <>
        <p role="status">Your password is changed, and you are signed out everywhere.</p>
        <LinkButton to="/sign-in" look="primary">
          Sign in
        </LinkButton>
      </>
    )
  return (
    <AccountForm onSubmit={() => void sending.submit({ token, password })}>
      <p>It signs you out everywhere.</p>
      <PasswordField fresh value={password} onChange={setPassword} error={sending.error} />
      <FormError error={sending.error} fields={['password']} />
      <Button look="primary" type="submit" busy={sending.busy}>
        Change password
      </Button>
    </AccountForm>
  )
}
