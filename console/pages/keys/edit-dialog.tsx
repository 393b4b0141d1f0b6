// PATCH: rename a key, let it expire, bind it to models and networks. The next request meets what is set.
import { useState } from 'react'
import { changeKey, type KeyChanges } from '../../api/key-calls.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { useToast } from '../../parts/toasts.tsx'
import { useSubmission } from '../../state/submission.ts'
import type { DeedProps } from './deed-props.ts'
import { TERMS, TermFields, type TermTexts, termTexts, typedTerms } from './term-fields.tsx'

export function EditDialog({ api_key, onClose, onChanged }: DeedProps) {
  const before = termTexts(api_key)
  const [name, setName] = useState(api_key.name)
  const [terms, setTerms] = useState(before)
  const say = useToast()
  const sending = useSubmission(async (body: KeyChanges) => {
    const { name } = await changeKey(api_key.id, body)
    say(`${name} is changed.`)
    onChanged()
    onClose()
  })
  return (
    <Dialog title={`Edit ${api_key.name}`} onClose={onClose}>
      <Form
        action="Save changes"
        busy={sending.busy}
        onSubmit={() => void sending.submit({ name, ...changed(before, terms) })}
        onCancel={onClose}
      >
        <Field label="Name" name="name" required value={name} onChange={setName} error={sending.error} />
        <TermFields
          texts={terms}
          onChange={setTerms}
          error={sending.error}
          fixed_end={api_key.parent_id !== undefined}
        />
        <FormError error={sending.error} fields={['name', ...TERMS]} />
      </Form>
    </Dialog>
  )
}

/** Only what was touched: an input tells minutes, and a key may end in the middle of one. */
function changed(before: TermTexts, after: TermTexts): KeyChanges {
  const touched = TERMS.filter((term) => before[term] !== after[term])
  const typed = typedTerms(after)
  return Object.fromEntries(touched.map((term) => [term, typed[term]]))
}
