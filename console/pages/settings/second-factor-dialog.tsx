// Setting up a second factor: the password, the app and a code of it, then the recovery codes, which are shown once.
import { useState } from 'react'
import { beginSecondFactor, confirmSecondFactor, type Enrolment } from '../../api/account-calls.ts'
import { Button } from '../../parts/button.tsx'
import { CodeField } from '../../parts/code-field.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Form } from '../../parts/form.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { PasswordField } from '../../parts/password-field.tsx'
import { QrCode } from '../../parts/qr-code.tsx'
import { useSubmission } from '../../state/submission.ts'

export function SecondFactorDialog({ onClose }: { onClose(): void }) {
  const [enrolment, setEnrolment] = useState<Enrolment>()
  const [codes, setCodes] = useState<readonly string[]>()
  if (codes) return <RecoveryCodes codes={codes} onClose={onClose} />
  if (enrolment) return <ScanStep enrolment={enrolment} onConfirmed={setCodes} onClose={onClose} />
  return <PasswordStep onBegun={setEnrolment} onClose={onClose} />
}

function PasswordStep({ onBegun, onClose }: { onBegun(enrolment: Enrolment): void; onClose(): void }) {
  const [password, setPassword] = useState('')
  const beginning = useSubmission(async (body: { password: string }) => onBegun(await beginSecondFactor(body)))
  return (
    <Dialog title="Set up a second step" onClose={onClose}>
      <Form
        action="Continue"
        busy={beginning.busy}
        onCancel={onClose}
        onSubmit={() => void beginning.submit({ password })}
      >
        <p>You need an app for one-time codes on your phone. First, your password once more.</p>
        <PasswordField value={password} onChange={setPassword} error={beginning.error} />
        <FormError error={beginning.error} fields={['password']} />
      </Form>
    </Dialog>
  )
}

interface ScanStepProps {
  enrolment: Enrolment
  onConfirmed(codes: readonly string[]): void
  onClose(): void
}

function ScanStep({ enrolment: { secret, uri }, onConfirmed, onClose }: ScanStepProps) {
  const [code, setCode] = useState('')
  const confirming = useSubmission(async (body: { code: string }) =>
    onConfirmed((await confirmSecondFactor(body)).recovery_codes),
  )
  return (
    <Dialog title="Scan it with your app" onClose={onClose}>
      <Form
        action="Turn on"
        busy={confirming.busy}
        onCancel={onClose}
        onSubmit={() => void confirming.submit({ code })}
      >
        <QrCode text={uri} label="QR code for your app. The same secret is below as text." />
        <p>Or type this secret into the app:</p>
        <div className="secret">
          <code>{secret.replace(/(.{4})(?=.)/g, '$1 ')}</code>
          <CopyButton text={secret} what="secret" />
        </div>
        <CodeField value={code} onChange={setCode} error={confirming.error} />
        <FormError error={confirming.error} fields={['code']} />
      </Form>
    </Dialog>
  )
}

function RecoveryCodes({ codes, onClose }: { codes: readonly string[]; onClose(): void }) {
  return (
    <Dialog title="Your recovery codes" onClose={onClose} insistent>
      <div className="stack">
        <p>
          Two-step sign-in is on. Without your phone, each of these codes signs you in once. Store them now: they are
          shown only now.
        </p>
        <div className="secret">
          <code>{codes.join(' ')}</code>
          <CopyButton text={codes.join('\n')} what="recovery codes" look="primary" />
        </div>
        <div className="dialog-actions">
          <Button onClick={onClose}>I have stored them</Button>
        </div>
      </div>
    </Dialog>
  )
}
