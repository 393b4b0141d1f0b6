// Add a channel, see the secret that it signs with this once, edit one, delete one.
import { useState } from 'react'
import {
  type Channel,
  type ChannelChange,
  changeChannel,
  deleteChannel,
  makeChannel,
  type NewChannel,
} from '../../api/notification-calls.ts'
import { ConfirmDialog, Dialog } from '../../parts/dialog.tsx'
import { type Asked, DraftFields } from '../../parts/draft-fields.tsx'
import { Form } from '../../parts/form.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { ShownOnce } from '../../parts/shown-once.tsx'
import { useToast } from '../../parts/toasts.tsx'
import { useSubmission } from '../../state/submission.ts'
import { EventsField } from './channel-events.tsx'

interface DialogProps {
  onClose(): void
  onChanged(): void
}

const FIELDS = ['kind', 'name', 'url', 'email', 'events']

interface Draft {
  kind: NewChannel['kind']
  name: string
  target: string
  /** Null: all. */
  events: NonNullable<NewChannel['events']> | null
}

const KINDS: { value: NewChannel['kind']; label: string }[] = [
  { value: 'webhook', label: 'Webhook' },
  { value: 'slack', label: 'Slack' },
  { value: 'mail', label: 'Mail to a member' },
]

export function MakeChannelDialog({ onClose, onChanged }: DialogProps) {
  const [typed, setTyped] = useState<Draft>({ kind: 'webhook', name: '', target: '', events: null })
  const set = (more: Partial<Draft>) => setTyped((before) => ({ ...before, ...more }))
  const [made, setMade] = useState<Channel>()
  const sending = useSubmission(async (body: NewChannel, idempotency_key) => {
    const channel = await makeChannel(body, idempotency_key)
    onChanged()
    if (channel.secret === undefined) onClose()
    else setMade(channel)
  })
  const { kind, name, target, events } = typed
  const where = kind === 'mail' ? 'email' : 'url'
  const submit = () => void sending.submit({ kind, name, [where]: target, events })
  if (made) return <SecretDialog name={made.name} secret={made.secret ?? ''} onClose={onClose} />
  return (
    <Dialog title="Add a channel" onClose={onClose}>
      <Form action="Add channel" busy={sending.busy} onSubmit={submit} onCancel={onClose}>
        <SelectField label="Kind" name="kind" value={kind} options={KINDS} onChange={(value) => set({ kind: value })} />
        <DraftFields
          asked={[
            { of: 'name', label: 'Name', required: true },
            {
              of: 'target',
              name: where,
              label: kind === 'mail' ? 'E-mail address' : 'Address',
              required: true,
              inputMode: kind === 'mail' ? 'email' : 'url',
              hint: HINTS[kind],
            },
          ]}
          draft={typed}
          change={set}
          error={sending.error}
        />
        <EventsField events={events} onChange={(events) => set({ events })} />
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

/** Where it leads may be a secret, so an address is typed anew or stays. A mailbox stays who it is. */
export function EditChannelDialog({ channel, onClose, onChanged }: DialogProps & { channel: Channel }) {
  const { id, kind, name } = channel
  const [typed, setTyped] = useState<Draft>({ kind, name, target: '', events: channel.events as Draft['events'] })
  const set = (more: Partial<Draft>) => setTyped((before) => ({ ...before, ...more }))
  const say = useToast()
  const sending = useSubmission(async (change: ChannelChange) => {
    await changeChannel(id, change)
    say(`${typed.name} is changed.`)
    onChanged()
    onClose()
  })
  const url = typed.target.trim()
  const submit = () => void sending.submit({ name: typed.name, events: typed.events, ...(url !== '' && { url }) })
  return (
    <Dialog title={`Edit ${name}`} onClose={onClose}>
      <Form action="Save changes" busy={sending.busy} onSubmit={submit} onCancel={onClose}>
        <DraftFields
          asked={[{ of: 'name', label: 'Name', required: true }, ...(kind === 'mail' ? [] : [ANOTHER])]}
          draft={typed}
          change={set}
          error={sending.error}
        />
        <EventsField events={typed.events} onChange={(events) => set({ events })} />
        <FormError error={sending.error} fields={FIELDS} />
      </Form>
    </Dialog>
  )
}

const ANOTHER: Asked<Draft> = {
  of: 'target',
  name: 'url',
  label: 'Another address',
  inputMode: 'url',
  hint: 'Left empty, it stays as it is.',
}

export const SecretDialog = ({ name, secret, onClose }: { name: string; secret: string; onClose(): void }) => (
  <ShownOnce
    title={`Secret of ${name}`}
    lead="Give it to the receiver, which verifies with it that a message is ours. It is shown only now."
    secret={secret}
    what="secret"
    onClose={onClose}
  />
)

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
      <p>No more alerts go there. What is waiting is not sent, and its log is deleted.</p>
    </ConfirmDialog>
  )
}
