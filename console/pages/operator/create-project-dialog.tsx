// Make a project for somebody: its name, its owner, and its admin key, which is handed on once.
import { useState } from 'react'
import { createProject, type NewOperatorProject } from '../../api/operator-calls.ts'
import { CheckField } from '../../parts/check-field.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { secretOf } from '../../state/secret.ts'
import { useSubmission } from '../../state/submission.ts'
import type { ShownKey } from '../keys/new-key-dialog.tsx'

interface CreateProjectDialogProps {
  onClose(): void
  onCreated(shown: ShownKey): void
}

export function CreateProjectDialog({ onClose, onCreated }: CreateProjectDialogProps) {
  const [name, setName] = useState('')
  const [owner_email, setEmail] = useState('')
  const [verified, setVerified] = useState(false)
  const sending = useSubmission(async (wish: NewOperatorProject, idempotency_key) => {
    const { api_key, name: of } = await createProject(wish, idempotency_key)
    const note =
      'It is the admin key of the project. Its owner chooses a password to sign in with by “Forgot your password?”.'
    onCreated({ id: api_key.id, name: of, secret: secretOf(api_key.key), problems: [], note })
  })
  const { error } = sending
  return (
    <Dialog title="Create a project" onClose={onClose}>
      <Form
        action="Create project"
        busy={sending.busy}
        onSubmit={() => void sending.submit({ name, owner_email, verified })}
        onCancel={onClose}
      >
        <Field label="Name" name="name" autoComplete="off" required value={name} onChange={setName} error={error} />
        <Field
          label="Owner’s e-mail address"
          name="owner_email"
          type="email"
          autoComplete="off"
          required
          value={owner_email}
          onChange={setEmail}
          error={error}
        />
        <CheckField checked={verified} onChange={setVerified}>
          The address is known to be the owner’s
        </CheckField>
        <p className="muted">Without that, the project makes no keys until its owner has confirmed the address.</p>
        <FormError error={error} fields={['name', 'owner_email']} />
      </Form>
    </Dialog>
  )
}
