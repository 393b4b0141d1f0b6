// Add a channel, see the secret that it signs with this once, delete one.
import { useState } from 'react'
import { type Channel, deleteChannel, makeChannel, type NewChannel } from '../../api/notification-calls.ts'
import { Button } from '../../parts/button.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { ConfirmDialog, Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { useToast } from '../../parts/toasts.tsx'
import { useSubmission } from '../../state/submission.ts'

interface DialogProps {
  onClose(): void
  onChanged(): void
}

const FIELDS = ['kind', 'name', 'url', 'email']
const KINDS: { value: NewChannel['kind']; label: string }[] = [
  { value: 'webhook', label: 'Webhook' },
  { value: 'slack', label: 'Slack' },
  { value: 'mail', label: 'Mail to a member' },
]

export function MakeChannelDialog({ onClose, onChanged }: DialogProps) {
  const [typed, setTyped] = useState({ kind: 'webhook' as NewChannel['kind'], name: '', target: '' })
  const set = (more: Partial<typeof typed>) => setTyped((before) => ({ ...before, ...more }))
  const [made, setMade] = useState<Channel>()
  const sending = useSubmission(async (body: NewChannel, idempotency_key) => {
    const channel = await makeChannel(body, idempotency_key)
    onChanged()
    if (channel.secret === undefined) onClose()
    else setMade(channel)
  })
  const { kind, name, target } = typed
  const submit = () =>
    void sending.submit(kind === 'mail' ? { kind, name, email: target } : { kind, name, url: target })
  if (made) return <SecretDialog name={made.name} secret={made.secret ?? ''} onClose={onClose} />
  const where = kind === 'mail' ? 'email' : 'url'
  return (
    <Dialog title="Add a channel" onClose={onClose}>
      <Form action="Add channel" busy={sending.busy} onSubmit={submit} onCancel={onClose}>
        <SelectField label="Kind" name="kind" value={kind} options={KINDS} onChange={(value) => set({ kind: value })} />
        <Field
          label="Name"
          name="name"
          required
          autoComplete="off"
          value={name}
          onChange={(value) => set({ name: value })}
          error={sending.error}
        />
        <Field
          label={kind === 'mail' ? 'E-mail address' : 'Address'}
          name={where}
          required
          inputMode={kind === 'mail' ? 'email' : 'url'}
          autoComplete="off"
          value={target}
          onChange={(value) => set({ target: value })}
          error={sending.error}
          hint={HINTS[kind]}
        />
        <FormError error={sending.error} fields={FIELDS} />
      </Form>
    </Dialog>
  )
}

const HINTS: Record<NewChannel['kind'], string> = {
  webhook: 'Events are posted there, signed as Standard Webhooks says.',
  slack: 'Of an incoming webhook. It is a secret: only its host is shown afterwards.',
  mail: 'The confirmed address of a member of this project.',
}

/** The one time that a secret is seen. */
export function SecretDialog({ name, secret, onClose }: { name: string; secret: string; onClose(): void }) {
  const [copied, setCopied] = useState(false)
  return (
    <Dialog title={`Secret of ${name}`} onClose={onClose} insistent>
      <div className="stack">
        <p>Give it to the receiver, which verifies with it that a message is ours. It is shown only now.</p>
        <div className="secret">
          <code>{secret}</code>
          <CopyButton
            text={secret}
            what="secret"
            look={copied ? 'plain' : 'primary'}
            onCopied={() => setCopied(true)}
          />
        </div>
        <div className="dialog-actions">
          <Button look={copied ? 'primary' : 'plain'} onClick={onClose}>
            I have stored it
          </Button>
        </div>
      </div>
    </Dialog>
  )
}

export function DeleteChannelDialog({ channel, onClose, onChanged }: DialogProps & { channel: Channel }) {
  const say = useToast()
  const sending = useSubmission(async (id: string) => {
    await deleteChannel(id)
    say(`${channel.name} is deleted.`)
    onChanged()
  })
  return (
    <ConfirmDialog
      title={`Delete ${channel.name}?`}
      action="Delete channel"
      busy={sending.busy}
      error={sending.error}
      onConfirm={() => void sending.submit(channel.id)}
      onClose={onClose}
    >
      <p>Nobody is told there any more. What waits for it is not sent, and its log is gone.</p>
    </ConfirmDialog>
  )
}
