// §8.1: a key's own rate limits.
import { useCallback, useState } from 'react'
import { type ApiKeyLimits, keyLimits, setKeyLimits } from '../../api/key-calls.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Form } from '../../parts/form.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { LoadFailure } from '../../parts/load-failure.tsx'
import { useToast } from '../../parts/toasts.tsx'
import { useResource } from '../../state/resource.ts'
import { useSubmission } from '../../state/submission.ts'
import type { DeedProps } from './deed-props.ts'
import { LIMITS, LimitFields, type LimitTexts, limitTexts, typedLimits } from './limit-fields.tsx'

export function LimitsDialog(deed: DeedProps) {
  const { api_key, onClose } = deed
  const { state, reload } = useResource(useCallback((signal) => keyLimits(api_key.id, signal), [api_key.id]))
  return (
    <Dialog title={`Rate limits of ${api_key.name}`} onClose={onClose}>
      {state.kind === 'loading' && <p role="status">Loading …</p>}
      {state.kind === 'failed' && <LoadFailure what="The limits" error={state.error} onRetry={reload} />}
      {state.kind === 'ready' && <LimitsForm {...deed} limits={state.value} />}
    </Dialog>
  )
}

function LimitsForm({ api_key, onClose, limits }: DeedProps & { limits: ApiKeyLimits }) {
  const [texts, setTexts] = useState(limitTexts(limits))
  const say = useToast()
  const sending = useSubmission(async (typed: LimitTexts) => {
    await setKeyLimits(api_key.id, typedLimits(typed))
    say(`The rate limits of ${api_key.name} are set.`)
    onClose()
  })
  return (
    <Form action="Set limits" busy={sending.busy} onSubmit={() => void sending.submit(texts)} onCancel={onClose}>
      <p className="muted">They hold for the next request on, on every replica.</p>
      <LimitFields texts={texts} onChange={setTexts} error={sending.error} effective={limits.effective} />
      <FormError error={sending.error} fields={LIMITS} />
    </Form>
  )
}
