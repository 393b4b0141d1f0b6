// R61: a new secret for the same key, shown once; the one of before works until the overlap ends.

import { useState } from 'react'
import { rotateKey } from '../../api/key-calls.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Form } from '../../parts/form.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { TimeUntil } from '../../parts/time-until.tsx'
import { moment } from '../../parts/times.ts'
import { secretOf } from '../../state/secret.ts'
import { useSubmission } from '../../state/submission.ts'
import type { DeedProps } from './deed-props.ts'

const OVERLAPS = [
  { value: '86400', label: '1 day' },
  { value: '3600', label: '1 hour' },
  { value: '604800', label: '7 days' },
  { value: '0', label: 'None: the old secret leaked' },
] as const

export function RotateDialog({ api_key, onClose, onChanged, onShown }: DeedProps) {
  const [overlap, setOverlap] = useState<string>(OVERLAPS[0].value)
  const sending = useSubmission(async (overlap_seconds: number, idempotency_key) => {
    const { key: raw, ...after } = await rotateKey(api_key.id, { overlap_seconds }, idempotency_key)
    const until = after.previous_expires_at
    const note = until
      ? `The previous secret works until ${moment(until)}, beside this one.`
      : 'The previous secret no longer works.'
    onShown({ id: after.id, name: after.name, secret: secretOf(raw), problems: [], note })
    onChanged()
    onClose()
  })
  return (
    <Dialog title={`Rotate ${api_key.name}`} onClose={onClose}>
      <Form
        action="Rotate key"
        busy={sending.busy}
        onSubmit={() => void sending.submit(Number(overlap))}
        onCancel={onClose}
      >
        <p>
          The key gets a new secret, which is shown once. Its name, budget, limits and usage stay. Whoever uses{' '}
          <code>{api_key.masked}</code> has until the overlap ends to change over.
        </p>
        <SelectField label="Both secrets work for" value={overlap} options={OVERLAPS} onChange={setOverlap} />
        {overlap === '0' && (
          <p className="notice notice-warn">Whoever still uses the old secret gets 401 from their next request on.</p>
        )}
        {api_key.previous_expires_at && (
          <p className="notice notice-warn">
            An even older secret still works and would have ended <TimeUntil at={api_key.previous_expires_at} />.
            Rotating again ends it at once.
          </p>
        )}
        <FormError error={sending.error} fields={[]} />
      </Form>
    </Dialog>
  )
}
