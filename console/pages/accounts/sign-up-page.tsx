// Sign up. The answer is the same whether or not the address is known (§5.9), and so is what is shown.
import { useState } from 'react'
import { signUp } from '../../api/account-calls.ts'
import { AccountForm, AccountFrame } from '../../parts/account-frame.tsx'
import { Button, LinkButton } from '../../parts/button.tsx'
import { Field } from '../../parts/field.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { PasswordField } from '../../parts/password-field.tsx'
import { Link } from '../../state/navigation.tsx'
import { useSubmission } from '../../state/submission.ts'
import { useWaysIn } from '../../state/ways-in.ts'

const FIELDS = ['email', 'password', 'project_name']

export default function SignUpPage() {
  const [form, setForm] = useState({ email: '', password: '', project_name: '' })
  const [mailed_to, setMailedTo] = useState<string>()
  const sending = useSubmission(async ({ email, password, project_name }: typeof form) => {
    const named = project_name.trim() === '' ? {} : { project_name }
    setMailedTo((await signUp({ email, password, ...named })).email)
    setForm({ email: '', password: '', project_name: '' })
  })
  const is_closed = useWaysIn()?.sign_up === 'invited'
  const change = (field: keyof typeof form) => (value: string) => setForm({ ...form, [field]: value })
  if (mailed_to !== undefined) return <Mailed email={mailed_to} />
  if (is_closed) return <Closed />
  return (
    <AccountFrame title="Sign up">
      <AccountForm onSubmit={() => void sending.submit(form)}>
        <Field
          label="E-mail address"
          name="email"
          type="email"
          autoComplete="username"
          required
          value={form.email}
          onChange={change('email')}
          error={sending.error}
        />
        <PasswordField fresh value={form.password} onChange={change('password')} error={sending.error} />
        <Field
          label="Project name"
          name="project_name"
          autoComplete="off"
          value={form.project_name}
          onChange={change('project_name')}
          error={sending.error}
          hint="Keys, budgets and usage belong to a project."
        />
        <FormError error={sending.error} fields={FIELDS} />
        <Button look="primary" type="submit" busy={sending.busy}>
          Sign up
        </Button>
      </AccountForm>
      <p className="links">
        <Link to="/sign-in">Sign in instead</Link>
      </p>
    </AccountFrame>
  )
}

const Closed = () => (
  <AccountFrame title="Sign-up is closed">
    <p>People join by invitation here. Ask an owner of the project for one.</p>
    <LinkButton to="/sign-in">Sign in</LinkButton>
  </AccountFrame>
)

const Mailed = ({ email }: { email: string }) => (
  <AccountFrame title="Check your mail">
    <p role="status">
      A link is on its way to <strong>{email}</strong>. Open it in this browser within 24 hours, and you are signed in.
    </p>
    <p className="muted">
      A server without SMTP writes mails to the folder <code>outbox</code> in its data folder, and their links to its
      log.
    </p>
    <LinkButton to="/sign-in">Sign in</LinkButton>
  </AccountFrame>
)
