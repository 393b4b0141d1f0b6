// Sign in.
import { useEffect, useState } from 'react'
import { signIn } from '../../api/account-calls.ts'
import { AccountForm, AccountFrame } from '../../parts/account-frame.tsx'
import { Button } from '../../parts/button.tsx'
import { CodeField } from '../../parts/code-field.tsx'
import { Field } from '../../parts/field.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { PasswordField } from '../../parts/password-field.tsx'
import { Link, navigate, wantedPage } from '../../state/navigation.tsx'
import { useSession } from '../../state/session.tsx'
import { useSubmission } from '../../state/submission.ts'
import { useWaysIn } from '../../state/ways-in.ts'
import { IssuerButtons, IssuerProblem } from './issuer-buttons.tsx'

export default function SignInPage() {
  const { state, enter } = useSession()
  const { data: issuers = [], sign_up = 'open' } = useWaysIn() ?? {}
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [code, setCode] = useState<string>()
  const sending = useSubmission(async (credentials: { email: string; password: string; code?: string }) => {
    enter(await signIn(credentials))
  })
  // Only who knows the password is asked for more.
  const asks = code !== undefined || sending.error?.type === 'second_factor_required'

  useEffect(() => {
    if (state.kind === 'signed_in') navigate(wantedPage(), { replace: true })
  }, [state.kind])

  return (
    <AccountFrame title="Sign in">
      <IssuerProblem />
      <IssuerButtons issuers={issuers} />
      <AccountForm onSubmit={() => void sending.submit({ email, password, ...(code !== undefined && { code }) })}>
        <Field
          label="E-mail address"
          name="email"
          type="email"
          autoComplete="username"
          required
          value={email}
          onChange={setEmail}
          error={sending.error}
        />
        <PasswordField value={password} onChange={setPassword} error={sending.error} />
        {asks && (
          <CodeField
            value={code ?? ''}
            onChange={setCode}
            recovery
            error={code === undefined ? undefined : sending.error}
          />
        )}
        <FormError
          error={asks && code === undefined ? undefined : sending.error}
          fields={['email', 'password', 'code']}
        />
        <Button look="primary" type="submit" busy={sending.busy}>
          Sign in
        </Button>
      </AccountForm>
      <p className="links">
        <Link to="/forgot-password">Forgot your password?</Link>
        {sign_up === 'open' && <Link to="/sign-up">Sign up</Link>}
      </p>
    </AccountFrame>
  )
}
