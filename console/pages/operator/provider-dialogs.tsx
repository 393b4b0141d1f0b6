// What can be done to a provider that was added here: drained, resumed, removed, returned to a version.
import { useState } from 'react'
import {
  drainProvider,
  type OperatorProvider,
  type ProviderVersion,
  removeProvider,
  restoreProvider,
  resumeProvider,
} from '../../api/provider-calls.ts'
import { ConfirmDialog, Dialog } from '../../parts/dialog.tsx'
import { Form } from '../../parts/form.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { useToast } from '../../parts/toasts.tsx'
import { navigate } from '../../state/navigation.tsx'
import { useSubmission } from '../../state/submission.ts'

export interface ProviderDeedProps {
  provider: OperatorProvider
  onClose(): void
  onChanged(provider: OperatorProvider): void
}

export function DrainDialog({ provider: { id }, onClose, onChanged }: ProviderDeedProps) {
  const say = useToast()
  const sending = useSubmission(async (which: string) => {
    onChanged(await drainProvider(which))
    say(`${id} takes no new calls.`)
    onClose()
  })
  return (
    <Dialog title={`Drain ${id}?`} onClose={onClose}>
      <Form action="Drain provider" busy={sending.busy} onSubmit={() => void sending.submit(id)} onCancel={onClose}>
        <p>
          Within a second no server gives it a new call; those under way end. Models that only it serves are refused
          with 503 until it is resumed.
        </p>
        <FormError error={sending.error} fields={[]} />
      </Form>
    </Dialog>
  )
}

export function ResumeProviderDialog({ provider: { id }, onClose, onChanged }: ProviderDeedProps) {
  const say = useToast()
  const sending = useSubmission(async (which: string) => {
    onChanged(await resumeProvider(which))
    say(`${id} takes calls again.`)
    onClose()
  })
  return (
    <Dialog title={`Resume ${id}?`} onClose={onClose}>
      <Form action="Resume provider" busy={sending.busy} onSubmit={() => void sending.submit(id)} onCancel={onClose}>
        <p>It takes calls again, on every server within a second.</p>
        <FormError error={sending.error} fields={[]} />
      </Form>
    </Dialog>
  )
}

/** Where the service says that it is still needed, it can be insisted on. */
export function RemoveProviderDialog({ provider: { id }, onClose }: ProviderDeedProps) {
  const [insists, setInsists] = useState(false)
  const say = useToast()
  const sending = useSubmission(async (force: boolean) => {
    await removeProvider(id, force)
    say(`${id} is removed.`)
    onClose()
    navigate('/providers')
  })
  const is_needed = sending.error?.status === 409
  return (
    <ConfirmDialog
      title={`Remove ${id}?`}
      action="Remove provider"
      typed={id}
      busy={sending.busy}
      error={sending.error}
      onConfirm={() => void sending.submit(insists)}
      onClose={onClose}
    >
      <p>
        Its secret is deleted at once, and cannot be restored. Calls under way end; new ones go elsewhere, or are
        refused where nothing else serves their model.
      </p>
      {(is_needed || insists) && (
        <label className="check">
          <input type="checkbox" checked={insists} onChange={(event) => setInsists(event.target.checked)} />
          Remove it all the same
        </label>
      )}
    </ConfirmDialog>
  )
}

interface RestoreProps extends ProviderDeedProps {
  to: ProviderVersion
}

export function RestoreDialog({ provider: { id, version = 0 }, to, onClose, onChanged }: RestoreProps) {
  const say = useToast()
  const sending = useSubmission(async (to_version: number) => {
    onChanged(await restoreProvider(id, { version, to_version }))
    say(`${id} has the settings of version ${to_version} again.`)
    onClose()
  })
  return (
    <Dialog title={`Return ${id} to version ${to.version}?`} onClose={onClose}>
      <Form
        action="Return to it"
        busy={sending.busy}
        onSubmit={() => void sending.submit(to.version)}
        onCancel={onClose}
      >
        <p>Its settings come back as a new version. Its secret stays as it is.</p>
        <FormError error={sending.error} fields={[]} />
      </Form>
    </Dialog>
  )
}
