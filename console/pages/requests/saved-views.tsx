// The views of a page that somebody keeps: a click shows one, and its address is what is passed on.
import { useState } from 'react'
import { deleteView, listViews, type NewSavedView, type SavedView, saveView } from '../../api/view-calls.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { useToast } from '../../parts/toasts.tsx'
import { Link } from '../../state/navigation.tsx'
import { type Resource, useResource } from '../../state/resource.ts'
import { useSubmission } from '../../state/submission.ts'

interface SavedViewsProps {
  page: SavedView['page']
  /** What is shown now, as the address has it, without the place in a list. */
  query: string
}

export function SavedViews({ page, query }: SavedViewsProps) {
  const views = useResource(listViews)
  const [saving, setSaving] = useState(false)
  const known = views.state.kind === 'ready' ? views.state.value.filter((view) => view.page === page) : []
  const current = known.find((view) => sameView(view.query, query))
  if (known.length === 0 && query === '') return null
  return (
    <nav className="saved-views" aria-label="Saved views">
      {known.length > 0 && (
        <ul>
          {known.map((view) => (
            <ViewChip key={view.id} view={view} is_current={view === current} views={views} />
          ))}
        </ul>
      )}
      {query !== '' && !current && (
        <Button look="quiet" onClick={() => setSaving(true)}>
          Save this view
        </Button>
      )}
      {saving && <SaveDialog page={page} query={query} onClose={() => setSaving(false)} onSaved={views.reload} />}
    </nav>
  )
}

/** Whatever the order of its parts. */
function sameView(one: string, other: string): boolean {
  const sorted = (text: string) => {
    const params = new URLSearchParams(text)
    params.sort()
    return params.toString()
  }
  return sorted(one) === sorted(other)
}

interface ViewChipProps {
  view: SavedView
  is_current: boolean
  views: Resource<SavedView[]>
}

function ViewChip({ view, is_current, views }: ViewChipProps) {
  const say = useToast()
  const deleting = useSubmission(async (id: string) => {
    await deleteView(id)
    views.reload()
    say(`The view ${view.name} is deleted.`)
  })
  return (
    <li className="filter-chip" data-current={is_current || undefined}>
      <Link to={`/${view.page}?${view.query}`} aria-current={is_current ? 'true' : undefined}>
        {view.name}
      </Link>
      <button
        type="button"
        aria-label={`Delete the view ${view.name}`}
        disabled={deleting.busy}
        onClick={() => void deleting.submit(view.id)}
      >
        ×
      </button>
    </li>
  )
}

interface SaveDialogProps extends SavedViewsProps {
  onClose(): void
  onSaved(): void
}

function SaveDialog({ page, query, onClose, onSaved }: SaveDialogProps) {
  const [name, setName] = useState('')
  const say = useToast()
  const saving = useSubmission(async (body: NewSavedView, key) => {
    await saveView(body, key)
    onSaved()
    say(`${body.name} is saved. Only you see it; its address can be passed on.`)
    onClose()
  })
  return (
    <Dialog title="Save this view" onClose={onClose}>
      <Form
        action="Save view"
        busy={saving.busy}
        onSubmit={() => void saving.submit({ page, name, query })}
        onCancel={onClose}
      >
        <Field
          label="Name"
          name="name"
          required
          autoComplete="off"
          value={name}
          onChange={setName}
          error={saving.error}
          hint="A view of yours with the same name is replaced."
        />
        <FormError error={saving.error} fields={['name']} />
      </Form>
    </Dialog>
  )
}
