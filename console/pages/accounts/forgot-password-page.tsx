// Ask for a link to choose a new password with.
import { useState } from 'react'
import { askForReset } from '../../api/account-calls.ts'
import { AccountForm, AccountFrame } from '../../parts/account-frame.tsx'
import { Button, LinkButton } from '../../parts/button.tsx'
import { Field } from '../../parts/field.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { Link } from '../../state/navigation.tsx'
import { useSubmission } from '../../state/submission.ts'

export default function ForgotPasswordPage() {
  const [email, setEmail] = useState('')
  const [mailed_to, setMailedTo] = useState<string>()
  const sending = useSubmission(async (body: { email: string }) => setMailedTo((await askForReset(body)).email))
  if (mailed_to !== undefined)
    return (
      <AccountFrame title="Check your e-mail">
        <p role="status">
          If <strong>{mailed_to}</strong> has an account, a link is on its way. It works once, within an hour.
        </p>
        <LinkButton to="/sign-in">Back to sign in</LinkButton>
      </AccountFrame>
    )
  return (
    <AccountFrame title="Forgot your password?">
      <AccountForm onSubmit={() => void sending.submit({ email })}>
        <Field
          label="E-mail address"
          name="email"
          type="email"
          autoComplete="username"
          required
          value={email}
          onChange={setEmail}
          error={sending.error}
          hint="You will get a link to choose a new one."
        />
        <FormError error={sending.error} fields={['email']} />
        <Button look="primary" type="submit" busy={sending.busy}>
          Send the link
        </Button>
      </AccountForm>
      <p className="links">
        <Link to="/sign-in">Back to sign in</Link>
      </p>
    </AccountFrame>
  )
}
