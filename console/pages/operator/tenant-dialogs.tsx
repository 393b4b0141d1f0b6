// What whoever runs the service sets for a project (R79): its cap, its share, its quotas, and whether it is served.
import { useCallback, useState } from 'react'
import {
  type OperatorProject,
  type ProjectQuotas,
  projectQuotas,
  resumeProject,
  setOperatorCap,
  setProjectQuotas,
  setShare,
  suspendProject,
} from '../../api/operator-calls.ts'
import { count, money } from '../../parts/amounts.ts'
import { ConfirmDialog, Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { LoadFailure } from '../../parts/load-failure.tsx'
import { useToast } from '../../parts/toasts.tsx'
import { typedNumber } from '../../parts/typed-number.ts'
import { useResource } from '../../state/resource.ts'
import { useSubmission } from '../../state/submission.ts'

export interface TenantDeedProps {
  project: OperatorProject
  onClose(): void
  onChanged(project: OperatorProject): void
}

const MICROS = 1_000_000

export function CapDialog({ project, onClose, onChanged }: TenantDeedProps) {
  const { id, name, operator_cap_micros, cap_micros, spent_micros } = project
  const [text, setText] = useState(operator_cap_micros === undefined ? '' : String(operator_cap_micros / MICROS))
  const say = useToast()
  const sending = useSubmission(async (typed: string) => {
    const limit_usd = typedNumber('limit_usd', typed) ?? null
    onChanged(await setOperatorCap(id, { limit_usd }))
    say(`Your cap of ${name} is ${limit_usd === null ? 'lifted' : 'set'}.`)
    onClose()
  })
  return (
    <Dialog title={`Your cap of ${name}`} onClose={onClose}>
      <Form
        action={text.trim() === '' && operator_cap_micros !== undefined ? 'Lift cap' : 'Set cap'}
        busy={sending.busy}
        onSubmit={() => void sending.submit(text)}
        onCancel={onClose}
      >
        <p className="muted">
          {money(spent_micros)} spent so far. Its own cap: {cap_micros === undefined ? 'none' : money(cap_micros)}. The
          lower of the two binds, and yours is hard whatever it says about overage.
        </p>
        <Field
          label="Cap"
          name="limit_usd"
          inputMode="decimal"
          before="$"
          value={text}
          onChange={setText}
          error={sending.error}
          hint="On everything that it spends in total. Empty lifts it. 0 refuses every request to a model."
        />
        <FormError error={sending.error} fields={['limit_usd']} />
      </Form>
    </Dialog>
  )
}

export function ShareDialog({ project, onClose, onChanged }: TenantDeedProps) {
  const { id, name, share } = project
  const [text, setText] = useState(String(share))
  const say = useToast()
  const sending = useSubmission(async (typed: string) => {
    onChanged(await setShare(id, { share: typedNumber('share', typed) ?? 1 }))
    say(`The share of ${name} is set.`)
    onClose()
  })
  return (
    <Dialog title={`Share of ${name}`} onClose={onClose}>
      <Form action="Set share" busy={sending.busy} onSubmit={() => void sending.submit(text)} onCancel={onClose}>
        <p className="muted">
          Where several projects ask for the slots of a provider, one with a share of 2 gets twice as many as one with
          1.
        </p>
        <Field
          label="Share"
          name="share"
          inputMode="numeric"
          required
          value={text}
          onChange={setText}
          error={sending.error}
          hint="1 to 1,000."
        />
        <FormError error={sending.error} fields={['share']} />
      </Form>
    </Dialog>
  )
}

export function SuspendDialog({ project, onClose, onChanged }: TenantDeedProps) {
  const { id, name } = project
  const say = useToast()
  const sending = useSubmission(async (which: string) => {
    onChanged(await suspendProject(which))
    say(`${name} is suspended.`)
    onClose()
  })
  return (
    <ConfirmDialog
      title={`Suspend ${name}?`}
      action="Suspend project"
      typed={name}
      busy={sending.busy}
      error={sending.error}
      onConfirm={() => void sending.submit(id)}
      onClose={onClose}
    >
      <p>
        Its keys and its people get 403 from their next request on, everywhere. Requests under way finish. Its owners
        can still read its usage. You can resume it.
      </p>
    </ConfirmDialog>
  )
}

export function ResumeDialog({ project, onClose, onChanged }: TenantDeedProps) {
  const { id, name } = project
  const say = useToast()
  const sending = useSubmission(async (which: string) => {
    onChanged(await resumeProject(which))
    say(`${name} is served again.`)
    onClose()
  })
  return (
    <Dialog title={`Resume ${name}?`} onClose={onClose}>
      <Form action="Resume project" busy={sending.busy} onSubmit={() => void sending.submit(id)} onCancel={onClose}>
        <p>Its keys and its people are served again from their next request on.</p>
        <FormError error={sending.error} fields={[]} />
      </Form>
    </Dialog>
  )
}

export function QuotasDialog(deed: TenantDeedProps) {
  const { project, onClose } = deed
  const { state, reload } = useResource(useCallback((signal) => projectQuotas(project.id, signal), [project.id]))
  return (
    <Dialog title={`Quotas of ${project.name}`} onClose={onClose}>
      {state.kind === 'loading' && <p role="status">Loading …</p>}
      {state.kind === 'failed' && <LoadFailure what="The quotas" error={state.error} onRetry={reload} />}
      {state.kind === 'ready' && <QuotasForm {...deed} quotas={state.value} />}
    </Dialog>
  )
}

type Kind = keyof ProjectQuotas['effective']
type QuotaTexts = Readonly<Record<string, string>>

const LABELS: Partial<Record<string, string>> = {
  keys: 'Keys that work',
  releases: 'Releases of aliases',
  hints: 'Stored hints',
  invitations: 'Open invitations',
}
const labelOf = (kind: string) => LABELS[kind] ?? kind.charAt(0).toUpperCase() + kind.slice(1).replaceAll('_', ' ')

function QuotasForm({ project, onClose, quotas }: TenantDeedProps & { quotas: ProjectQuotas }) {
  const kinds = Object.keys(quotas.effective) as Kind[]
  const [texts, setTexts] = useState<QuotaTexts>(
    Object.fromEntries(kinds.map((kind) => [kind, String(quotas[kind] ?? '')])),
  )
  const say = useToast()
  const sending = useSubmission(async (typed: QuotaTexts) => {
    const body = Object.fromEntries(kinds.map((kind) => [kind, typedNumber(kind, typed[kind] ?? '') ?? null]))
    await setProjectQuotas(project.id, body)
    say(`The quotas of ${project.name} are set.`)
    onClose()
  })
  return (
    <Form action="Set quotas" busy={sending.busy} onSubmit={() => void sending.submit(texts)} onCancel={onClose}>
      <p className="muted">How many of each it may have, from its next request on. What is there already stays.</p>
      {kinds.map((kind) => (
        <Field
          key={kind}
          label={labelOf(kind)}
          name={kind}
          inputMode="numeric"
          autoComplete="off"
          value={texts[kind] ?? ''}
          onChange={(value) => setTexts({ ...texts, [kind]: value })}
          error={sending.error}
          placeholder={
            quotas[kind] === null ? `${count(quotas.effective[kind])}, as for every project` : 'As for every project'
          }
        />
      ))}
      <FormError error={sending.error} fields={kinds} />
    </Form>
  )
}
