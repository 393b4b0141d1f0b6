// Security: a second factor beside the password, set up and removed.
import { useState } from 'react'
import { removeSecondFactor, secondFactor } from '../../api/account-calls.ts'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { CodeField } from '../../parts/code-field.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Form } from '../../parts/form.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { LoadFailure } from '../../parts/load-failure.tsx'
import { PasswordField } from '../../parts/password-field.tsx'
import { useResource } from '../../state/resource.ts'
import { useSubmission } from '../../state/submission.ts'
import { SecondFactorDialog } from './second-factor-dialog.tsx'

/** `onClosed`: something may have been set up or removed. */
export function SecondFactorCard({ onClosed }: { onClosed?: () => void }) {
  const { state, reload } = useResource(secondFactor)
  const [open, setOpen] = useState<'set_up' | 'remove'>()
  const close = () => {
    setOpen(undefined)
    reload()
    onClosed?.()
  }
  if (state.kind === 'failed') return <LoadFailure what="Your second factor" error={state.error} onRetry={reload} />
  if (state.kind === 'loading') return <div className="skeleton skeleton-chart" />
  const { enabled, recovery_codes_left, has_password } = state.value
  return (
    <Card title="Security">
      <div className="stack">
        <p className="row">
          Two-step sign-in
          <Badge tone={enabled ? 'good' : 'calm'}>{enabled ? 'on' : 'off'}</Badge>
        </p>
        {!has_password && (
          <p className="muted">You sign in with an identity provider, which asks for a second step of its own.</p>
        )}
        {has_password && !enabled && (
          <p className="muted">Besides your password, sign-in asks for a code that an app on your phone shows.</p>
        )}
        {enabled && (
          <p className="muted">
            Sign-in asks for a code of your app. {recovery_codes_left} of 10 recovery codes are left; to get new ones,
            remove the second step and set it up again.
          </p>
        )}
        {has_password && (
          <span className="row">
            {enabled ? (
              <Button onClick={() => setOpen('remove')}>Remove second step</Button>
            ) : (
              <Button onClick={() => setOpen('set_up')}>Set up second step</Button>
            )}
          </span>
        )}
      </div>
      {open === 'set_up' && <SecondFactorDialog onClose={close} />}
      {open === 'remove' && <RemoveDialog onClose={close} />}
    </Card>
  )
}

function RemoveDialog({ onClose }: { onClose(): void }) {
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const removing = useSubmission(async (body: { password: string; code: string }) => {
    await removeSecondFactor(body)
    onClose()
  })
  return (
    <Dialog title="Remove the second step" onClose={onClose}>
      <Form
        action="Remove second step"
        busy={removing.busy}
        onCancel={onClose}
        onSubmit={() => void removing.submit({ password, code })}
      >
        <p>From then on your password alone signs you in. Your recovery codes stop working.</p>
        <PasswordField value={password} onChange={setPassword} error={removing.error} />
        <CodeField value={code} onChange={setCode} error={removing.error} recovery />
        <FormError error={removing.error} fields={['password', 'code']} />
      </Form>
    </Dialog>
  )
}
