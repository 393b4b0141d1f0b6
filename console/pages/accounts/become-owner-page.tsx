// Where the link leads that the start prints: whoever opens it first owns the project (0160).
import { useState } from 'react'
import { becomeOwner, type OwnerClaim } from '../../api/account-calls.ts'
import { AccountForm } from '../../parts/account-frame.tsx'
import { Button } from '../../parts/button.tsx'
import { CodeField } from '../../parts/code-field.tsx'
import { Field } from '../../parts/field.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { MailedLink } from '../../parts/mailed-link.tsx'
import { PasswordField } from '../../parts/password-field.tsx'
import { Link, navigate } from '../../state/navigation.tsx'
import { useSession } from '../../state/session.tsx'
import { useSubmission } from '../../state/submission.ts'

const NO_LINK = 'This page needs its whole link. Open the one that the server or `switchyard owner-link` printed.'

export default function BecomeOwnerPage() {
  return (
    <MailedLink title="Become the owner" without={NO_LINK}>
      {(token) => <Claim token={token} />}
    </MailedLink>
  )
}

function Claim({ token }: { token: string }) {
  const { state, enter } = useSession()
  const [anew, setAnew] = useState(false)
  const sending = useSubmission(async (claim: OwnerClaim) => {
    enter(await becomeOwner(claim))
    navigate('/', { replace: true })
  })
  if (state.kind === 'loading') return <p role="status">Loading …</p>
  if (state.kind === 'signed_in' && !anew)
    return (
      <>
        <p>
          You are signed in as <strong>{state.me.person.email}</strong>. The project will belong to this account.
        </p>
        <FormError error={sending.error} fields={[]} />
        <Button look="primary" busy={sending.busy} onClick={() => void sending.submit({ token })}>
          Become the owner
        </Button>
        <Button onClick={() => setAnew(true)}>Use another account</Button>
      </>
    )
  return (
    <ClaimForm busy={sending.busy} error={sending.error} onSend={(who) => void sending.submit({ token, ...who })} />
  )
}

interface ClaimFormProps {
  busy: boolean
  error: ReturnType<typeof useSubmission>['error']
  onSend(who: { email: string; password: string; code?: string }): void
}

function ClaimForm({ busy, error, onSend }: ClaimFormProps) {
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [code, setCode] = useState<string>()
  const asks = code !== undefined || error?.type === 'second_factor_required'
  return (
    <AccountForm onSubmit={() => onSend({ email, password, ...(code !== undefined && { code }) })}>
      <p>Nobody can sign in to this project yet. Your account will own it, with its keys, budgets and members.</p>
      <Field
        label="E-mail address"
        name="email"
        type="email"
        autoComplete="username"
        required
        value={email}
        onChange={setEmail}
        error={error}
      />
      <PasswordField fresh value={password} onChange={setPassword} error={error} />
      <p className="muted">Already have an account here? Enter its address and password instead.</p>
      {asks && (
        <CodeField value={code ?? ''} onChange={setCode} recovery error={code === undefined ? undefined : error} />
      )}
      <FormError error={asks && code === undefined ? undefined : error} fields={['email', 'password', 'code']} />
      <Button look="primary" type="submit" busy={busy}>
        Become the owner
      </Button>
      <p className="links">
        <Link to="/sign-in">Sign in</Link>
      </p>
    </AccountForm>
  )
}
