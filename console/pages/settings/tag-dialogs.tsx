// A budget of a tag is made, its limit changed, and deleted.
import { useState } from 'react'
import { addTagBudget, deleteTagBudget, setTagLimit, type TagBudget } from '../../api/tag-calls.ts'
import { ConfirmDialog, Dialog } from '../../parts/dialog.tsx'
import { type Asked, DraftFields } from '../../parts/draft-fields.tsx'
import { Form } from '../../parts/form.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { useToast } from '../../parts/toasts.tsx'
import { typedNumber } from '../../parts/typed-number.ts'
import { useSubmission } from '../../state/submission.ts'

interface DialogProps {
  onClose(): void
  onChanged(): void
}

interface Draft {
  tag: string
  limit_usd: string
}

const MICROS = 1_000_000
const TAG: Asked<Draft> = {
  of: 'tag',
  label: 'Tag',
  required: true,
  placeholder: 'team=search',
  hint: 'A name and a value, as requests send it.',
}
const LIMIT: Asked<Draft> = {
  of: 'limit_usd',
  label: 'Limit',
  required: true,
  inputMode: 'decimal',
  before: '$',
  hint: '0 refuses every request with the tag.',
}

/** Without a budget, a new one: it counts from now on. */
export function TagBudgetDialog({ budget, onClose, onChanged }: DialogProps & { budget: TagBudget | undefined }) {
  const [draft, setDraft] = useState<Draft>({
    tag: budget?.tag ?? '',
    limit_usd: budget ? String(budget.limit_micros / MICROS) : '',
  })
  const say = useToast()
  const sending = useSubmission(async (typed: Draft, idempotency_key) => {
    const limit_usd = typedNumber('limit_usd', typed.limit_usd) ?? 0
    if (budget) await setTagLimit(budget.id, { limit_usd })
    else await addTagBudget({ tag: typed.tag.trim(), limit_usd }, idempotency_key)
    say(`The budget of ${typed.tag.trim()} is set.`)
    onChanged()
    onClose()
  })
  const title = budget ? `Limit of ${budget.tag}` : 'Add a budget for a tag'
  return (
    <Dialog title={title} onClose={onClose}>
      <Form
        action={budget ? 'Set limit' : 'Add budget'}
        busy={sending.busy}
        onSubmit={() => void sending.submit(draft)}
        onCancel={onClose}
      >
        <DraftFields
          asked={budget ? [LIMIT] : [TAG, LIMIT]}
          draft={draft}
          change={(changed) => setDraft({ ...draft, ...changed })}
          error={sending.error}
        />
        <FormError error={sending.error} fields={budget ? ['limit_usd'] : ['tag', 'limit_usd']} />
      </Form>
    </Dialog>
  )
}

export function DeleteTagBudgetDialog({ budget, onClose, onChanged }: DialogProps & { budget: TagBudget }) {
  const say = useToast()
  const sending = useSubmission(async (id: string) => {
    await deleteTagBudget(id)
    say(`${budget.tag} has no budget any more.`)
    onChanged()
    onClose()
  })
  return (
    <ConfirmDialog
      title={`Delete the budget of ${budget.tag}?`}
      action="Delete budget"
      busy={sending.busy}
      error={sending.error}
      onConfirm={() => void sending.submit(budget.id)}
      onClose={onClose}
    >
      <p>Requests with this tag are limited by their keys alone from then on. What they spent stays in the usage.</p>
    </ConfirmDialog>
  )
}
