// The project itself: its name, what all its keys together may spend, and where its requests may go.
import { useCallback, useState } from 'react'
import { theProject } from '../../api/account-calls.ts'
import {
  type ProjectState,
  renameProject,
  setBoundary,
  setCap,
  setRecordings,
  setRegions,
} from '../../api/settings-calls.ts'
import { money } from '../../parts/amounts.ts'
import { BudgetBar, bindingCap } from '../../parts/budget-bar.tsx'
import { Card } from '../../parts/card.tsx'
import { CheckField } from '../../parts/check-field.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Field } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { LoadFailure, StaleNotice } from '../../parts/load-failure.tsx'
import { type Option, SelectField } from '../../parts/select-field.tsx'
import { TextAreaField, typedLines } from '../../parts/text-area-field.tsx'
import { useToast } from '../../parts/toasts.tsx'
import { typedNumber } from '../../parts/typed-number.ts'
import { useResource } from '../../state/resource.ts'
import { useMay, useSession } from '../../state/session.tsx'
import { useSubmission } from '../../state/submission.ts'
import { SecondStepRuleCard } from './second-step-rule-card.tsx'

const POLL_MS = 10_000
const MICROS = 1_000_000

export default function ProjectSection() {
  const { state, reload, put } = useResource(
    useCallback((signal) => theProject(signal), []),
    { poll_ms: POLL_MS },
  )
  if (state.kind === 'failed') return <LoadFailure what="The project" error={state.error} onRetry={reload} />
  if (state.kind === 'loading') return <div className="skeleton skeleton-chart" />
  return (
    <>
      <StaleNotice error={state.stale} onRetry={reload} />
      <NameCard project={state.value} onChanged={put} />
      <CapCard project={state.value} onChanged={put} />
      <BoundaryCard project={state.value} onChanged={put} />
      <RegionsCard project={state.value} onChanged={put} />
      <RecordingsCard project={state.value} onChanged={put} />
      <SecondStepRuleCard project={state.value} onChanged={put} />
    </>
  )
}

interface CardProps {
  project: ProjectState
  onChanged(project: ProjectState): void
}

function NameCard({ project, onChanged }: CardProps) {
  const [name, setName] = useState(project.name)
  const { refresh } = useSession()
  const may_manage = useMay('admin')
  const say = useToast()
  const sending = useSubmission(async (typed: string) => {
    const changed = await renameProject({ name: typed })
    setName(changed.name)
    onChanged(changed)
    say(`The project is called ${changed.name}.`)
    await refresh() // the side shows its name
  })
  return (
    <Card title="Name">
      <p className="row muted">
        <code>{project.id}</code>
        <CopyButton text={project.id} what="project id" look="quiet" />
      </p>
      {may_manage ? (
        <Form action="Rename" busy={sending.busy} onSubmit={() => void sending.submit(name)}>
          <Field label="Project name" name="name" required value={name} onChange={setName} error={sending.error} />
          <FormError error={sending.error} fields={['name']} />
        </Form>
      ) : (
        <p>{project.name}</p>
      )}
    </Card>
  )
}

function CapCard({ project, onChanged }: CardProps) {
  const { cap_micros, operator_cap_micros, overage_enabled, spent_micros, held_micros } = project
  const [overage, setOverage] = useState(overage_enabled)
  const [text, setText] = useState(cap_micros === undefined ? '' : String(cap_micros / MICROS))
  const may_manage = useMay('admin')
  const say = useToast()
  const sending = useSubmission(async (typed: string) => {
    const changed = await setCap({ limit_usd: typedNumber('limit_usd', typed) ?? null, overage_enabled: overage })
    onChanged(changed)
    const { cap_micros: cap } = changed
    say(cap === undefined ? 'The cap is lifted.' : `The cap is ${money(cap)}.`)
  })
  return (
    <Card title="Spending cap">
      <BudgetBar spent_micros={spent_micros} held_micros={held_micros} limit_micros={bindingCap(project)} />
      {operator_cap_micros !== undefined && (
        <p>Whoever runs the service caps this project at {money(operator_cap_micros)}. The lower cap binds.</p>
      )}
      {may_manage && (
        <Form
          action={text.trim() === '' && cap_micros !== undefined ? 'Lift cap' : 'Set cap'}
          busy={sending.busy}
          onSubmit={() => void sending.submit(text)}
        >
          <Field
            label="Cap"
            name="limit_usd"
            inputMode="decimal"
            autoComplete="off"
            before="$"
            after="USD"
            value={text}
            onChange={setText}
            error={sending.error}
            hint="For all keys and people of the project together. Empty lifts it, 0 refuses every request to a model."
          />
          <CheckField checked={overage} onChange={setOverage}>
            Allow overage: the cap refuses nothing, and what is above it is counted
          </CheckField>
          <FormError error={sending.error} fields={['limit_usd']} />
        </Form>
      )}
    </Card>
  )
}

const BOUNDARIES: readonly Option<ProjectState['boundary']>[] = [
  { value: 'own_first', label: 'Own first: elsewhere as a failover' },
  { value: 'own_only', label: 'Own only: nowhere else' },
]

function BoundaryCard({ project, onChanged }: CardProps) {
  const may_manage = useMay('admin')
  const say = useToast()
  const sending = useSubmission(async (boundary: ProjectState['boundary']) => {
    onChanged(await setBoundary({ boundary }))
    say(boundary === 'own_only' ? 'Calls stay on own capacity.' : 'Calls may leave own capacity, as a failover.')
  })
  return (
    <Card title="Boundary">
      {may_manage ? (
        <SelectField
          label="Own clusters and credentials"
          name="boundary"
          value={project.boundary}
          options={BOUNDARIES}
          onChange={(boundary) => void sending.submit(boundary)}
          error={sending.error}
          hint="Whether a call may go elsewhere when the project’s own clusters and credentials cannot take it."
        />
      ) : (
        <p>{BOUNDARIES.find(({ value }) => value === project.boundary)?.label}</p>
      )}
    </Card>
  )
}

function RegionsCard({ project, onChanged }: CardProps) {
  const [text, setText] = useState(project.allowed_regions?.join('\n') ?? '')
  const may_manage = useMay('admin')
  const say = useToast()
  const sending = useSubmission(async (typed: string) => {
    const changed = await setRegions({ allowed_regions: typedLines(typed) })
    onChanged(changed)
    say(changed.allowed_regions ? 'The allowed regions are set.' : 'Any region is allowed.')
  })
  return (
    <Card title="Allowed regions">
      {may_manage ? (
        <Form action="Set regions" busy={sending.busy} onSubmit={() => void sending.submit(text)}>
          <TextAreaField
            label="Regions"
            name="allowed_regions"
            value={text}
            onChange={setText}
            error={sending.error}
            placeholder="Any region"
            hint="One a line, as providers and clusters name them. Requests go nowhere else. Empty allows any region."
          />
          <FormError error={sending.error} fields={['allowed_regions']} />
        </Form>
      ) : (
        <p>{project.allowed_regions?.join(', ') ?? 'Any region.'}</p>
      )}
    </Card>
  )
}

function RecordingsCard({ project, onChanged }: CardProps) {
  const may_manage = useMay('admin')
  const say = useToast()
  const sending = useSubmission(async (enabled: boolean) => {
    const changed = await setRecordings({ enabled })
    onChanged(changed)
    say(changed.recordings_enabled ? 'Requests and answers are recorded.' : 'Nothing more is recorded.')
  })
  return (
    <Card title="Recordings">
      {may_manage ? (
        <>
          <CheckField
            checked={project.recordings_enabled}
            disabled={sending.busy}
            onChange={(enabled) => void sending.submit(enabled)}
          >
            Record request and answer of every call to a model, sealed, for as long as the operator says
          </CheckField>
          <FormError error={sending.error} fields={[]} />
        </>
      ) : (
        <p>{project.recordings_enabled ? 'Requests and answers are recorded.' : 'Nothing is recorded.'}</p>
      )}
    </Card>
  )
}
