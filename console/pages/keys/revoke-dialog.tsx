// Revoke a key: at once, on every replica, for good (§5.4).
import { revokeKey } from '../../api/key-calls.ts'
import { count } from '../../parts/amounts.ts'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { useToast } from '../../parts/toasts.tsx'
import { useSubmission } from '../../state/submission.ts'
import type { DeedProps } from './deed-props.ts'

export function RevokeDialog({ api_key, live_children, onClose, onChanged }: DeedProps) {
  const say = useToast()
  const sending = useSubmission(async (id: string) => {
    await revokeKey(id)
    say(`${api_key.name} is revoked.`)
    onChanged()
    onClose()
  })
  return (
    <ConfirmDialog
      title={`Revoke ${api_key.name}?`}
      action="Revoke key"
      typed={api_key.name}
      busy={sending.busy}
      error={sending.error}
      onConfirm={() => void sending.submit(api_key.id)}
      onClose={onClose}
    >
      <p>
        <code>{api_key.masked}</code> stops working at once, everywhere, and cannot be restored. Whoever uses it gets
        401 from their next request on.
      </p>
      {live_children > 0 && (
        <p className="notice notice-warn">
          {live_children === 1 ? 'Its child key ends' : `Its ${count(live_children)} child keys end`} with it, in the
          same instant.
        </p>
      )}
      {api_key.parent_id !== undefined && <p>What it did not spend goes back to its parent.</p>}
      <p>
        Last used: <TimeAgo at={api_key.last_used_at} />. Its usage stays on record.
      </p>
    </ConfirmDialog>
  )
}
