// R3: invite somebody, change what they may do, remove them or withdraw what was offered.
import { useState } from 'react'
import { invite, type Member, type Role, removeMember, setRole } from '../../api/settings-calls.ts'
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

const ROLES = [
  { value: 'member', label: 'Member: generates, and reads what is not for owners' },
  { value: 'viewer', label: 'Viewer: reads what is not for owners' },
  { value: 'owner', label: 'Owner: manages keys, people and money too' },
] as const

export function InviteDialog({ onClose, onChanged }: DialogProps) {
  const [email, setEmail] = useState('')
  const [role, setTheRole] = useState<Role>('member')
  const say = useToast()
  const sending = useSubmission(async (body: { email: string; role: Role }, idempotency_key) => {
    const invited = await invite(body, idempotency_key)
    say(`A link is on its way to ${invited.email}.`)
    onChanged()
    onClose()
  })
  return (
    <Dialog title="Invite somebody" onClose={onClose}>
      <Form
        action="Send invitation"
        busy={sending.busy}
        onSubmit={() => void sending.submit({ email, role })}
        onCancel={onClose}
      >
        <Field
          label="E-mail address"
          name="email"
          type="email"
          autoComplete="off"
          required
          value={email}
          onChange={setEmail}
          error={sending.error}
          hint="They get a link that works once, within 7 days."
        />
        <SelectField<Role> label="Role" value={role} options={ROLES} onChange={setTheRole} />
        <FormError error={sending.error} fields={['email']} />
      </Form>
    </Dialog>
  )
}

export function RoleDialog({ member, onClose, onChanged }: DialogProps & { member: Member }) {
  const [role, setTheRole] = useState<Role>(member.role)
  const say = useToast()
  const sending = useSubmission(async (chosen: Role) => {
    await setRole(member.id, { role: chosen })
    say(`${member.email} ${member.status === 'active' ? 'is' : 'is invited as'} ${chosen} now.`)
    onChanged()
    onClose()
  })
  return (
    <Dialog title={`Role of ${member.email}`} onClose={onClose}>
      <Form action="Change role" busy={sending.busy} onSubmit={() => void sending.submit(role)} onCancel={onClose}>
        <SelectField<Role>
          label="Role"
          value={role}
          options={ROLES}
          onChange={setTheRole}
          hint={
            member.status === 'active' ? 'Holds from their next request on.' : 'What accepting the invitation gives.'
          }
        />
        <FormError error={sending.error} fields={[]} />
      </Form>
    </Dialog>
  )
}

export function RemoveDialog({ member, onClose, onChanged }: DialogProps & { member: Member }) {
  const is_member = member.status === 'active'
  const say = useToast()
  const sending = useSubmission(async (id: string) => {
    await removeMember(id)
    say(is_member ? `${member.email} is no member any more.` : `The invitation of ${member.email} is withdrawn.`)
    onChanged()
    onClose()
  })
  return (
    <ConfirmDialog
      title={is_member ? `Remove ${member.email}?` : `Withdraw the invitation of ${member.email}?`}
      action={is_member ? 'Remove member' : 'Withdraw invitation'}
      busy={sending.busy}
      error={sending.error}
      onConfirm={() => void sending.submit(member.id)}
      onClose={onClose}
    >
      {is_member ? (
        <p>
          They no longer see this project, from their next request on. Keys they made go on working: revoke those that
          they have a copy of. They can be invited again.
        </p>
      ) : (
        <p>The link that was mailed to them stops working at once. They can be invited again.</p>
      )}
    </ConfirmDialog>
  )
}
