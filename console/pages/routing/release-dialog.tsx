// §9.4: a new alias with its first release, or a further release of one: the same targets, with a name or without.
import { type ReactNode, useCallback, useState } from 'react'
import {
  type AliasRelease,
  type AliasTarget,
  addRelease,
  createAlias,
  type Destinations,
  listDestinations,
} from '../../api/routing-calls.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { LoadFailure } from '../../parts/load-failure.tsx'
import { useResource } from '../../state/resource.ts'
import { type Submission, useSubmission } from '../../state/submission.ts'
import { draftsOf, fieldsOf, newTarget, readTargets, type TargetDraft } from './target-draft.ts'
import { TargetEditor } from './target-editor.tsx'

interface DialogProps {
  onClose(): void
}

export function CreateAliasDialog({ onClose, onCreated }: DialogProps & { onCreated(name: string): void }) {
  const [name, setName] = useState('')
  const sending = useSubmission(async (drafts: { name: string; targets: readonly TargetDraft[] }, key) => {
    const alias = await createAlias({ name: drafts.name, targets: readTargets(drafts.targets) }, key)
    onCreated(alias.name)
  })
  return (
    <Dialog title="Create an alias" onClose={onClose}>
      <WithDestinations>
        {(known) => (
          <ReleaseForm
            known={known}
            first={[newTarget(known)]}
            action="Create alias"
            sending={sending}
            onSubmit={(targets) => void sending.submit({ name, targets })}
            onClose={onClose}
          >
            <Field
              label="Name"
              name="name"
              autoComplete="off"
              required
              value={name}
              onChange={setName}
              error={sending.error}
              hint="What agents ask for instead of a model. Small letters, digits, and . _ / -"
            />
          </ReleaseForm>
        )}
      </WithDestinations>
    </Dialog>
  )
}

interface NewReleaseProps extends DialogProps {
  alias_name: string
  /** What the alias sends to now: where most releases begin. */
  current: readonly AliasTarget[]
  onAdded(release: AliasRelease): void
}

export function NewReleaseDialog({ alias_name, current, onClose, onAdded }: NewReleaseProps) {
  const [first] = useState(() => draftsOf(current))
  const [run, setRun] = useState('')
  const sending = useSubmission(async (drafts: { targets: readonly TargetDraft[]; run: string }, key) => {
    const evidence = drafts.run.trim() === '' ? {} : { replay_run_id: drafts.run.trim() }
    onAdded(await addRelease(alias_name, { targets: readTargets(drafts.targets), ...evidence }, key))
  })
  return (
    <Dialog title={`New release of ${alias_name}`} onClose={onClose}>
      <WithDestinations>
        {(known) => (
          <ReleaseForm
            known={known}
            first={first}
            action="Add release"
            sending={sending}
            onSubmit={(targets) => void sending.submit({ targets, run })}
            onClose={onClose}
          >
            <p className="muted">Nothing moves yet: requests go to it once it is activated. A release never changes.</p>
            <Field
              label="Replay run"
              name="replay_run_id"
              autoComplete="off"
              value={run}
              onChange={setRun}
              error={sending.error}
              hint="A completed run of one of the targets. The release shows what it found."
            />
          </ReleaseForm>
        )}
      </WithDestinations>
    </Dialog>
  )
}

function WithDestinations({ children }: { children(known: Destinations): ReactNode }) {
  const { state, reload } = useResource(useCallback((signal) => listDestinations(signal), []))
  if (state.kind === 'loading') return <p role="status">Loading …</p>
  if (state.kind === 'failed')
    return <LoadFailure what="What a target may point at" error={state.error} onRetry={reload} />
  return children(state.value)
}

interface ReleaseFormProps<Body> extends DialogProps {
  known: Destinations
  first: readonly TargetDraft[]
  action: string
  sending: Submission<Body>
  onSubmit(targets: readonly TargetDraft[]): void
  children: ReactNode
}

function ReleaseForm<Body>({ known, first, action, sending, onSubmit, onClose, children }: ReleaseFormProps<Body>) {
  const [targets, setTargets] = useState(first)
  return (
    <Form action={action} busy={sending.busy} onSubmit={() => onSubmit(targets)} onCancel={onClose}>
      {children}
      <TargetEditor targets={targets} onChange={setTargets} known={known} error={sending.error} />
      <FormError error={sending.error} fields={['name', 'replay_run_id', ...fieldsOf(targets)]} />
    </Form>
  )
}
