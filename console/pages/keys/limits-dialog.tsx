// §8.1: a key's own rate limits, of all models together and of single ones.
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
import { ModelRateFields, type RateDraft, rateDrafts, rateFields, typedRates } from './model-rate-fields.tsx'

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

function LimitsForm({ api_key, onClose, onChanged, limits }: DeedProps & { limits: ApiKeyLimits }) {
  const [texts, setTexts] = useState(limitTexts(limits))
  const [rates, setRates] = useState<readonly RateDraft[]>(() => rateDrafts(limits.models))
  const say = useToast()
  const sending = useSubmission(async (typed: { texts: LimitTexts; rates: readonly RateDraft[] }) => {
    await setKeyLimits(api_key.id, { ...typedLimits(typed.texts), models: typedRates(typed.rates) })
    say(`The rate limits of ${api_key.name} are set.`)
    onChanged()
    onClose()
  })
  const submit = () => void sending.submit({ texts, rates })
  return (
    <Form action="Set limits" busy={sending.busy} onSubmit={submit} onCancel={onClose}>
      <p className="muted">They hold from the next request on, on every replica.</p>
      <LimitFields texts={texts} onChange={setTexts} error={sending.error} effective={limits.effective} />
      <ModelRateFields drafts={rates} onChange={setRates} error={sending.error} />
      <FormError error={sending.error} fields={[...LIMITS, ...rateFields(rates)]} />
    </Form>
  )
}
