// §4.5: register a cluster. What it is called and where it runs is enough; the rest has defaults.
import { type FormEvent, useState } from 'react'
import { type Cluster, type NewCluster, registerCluster } from '../../api/cluster-calls.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { typedNumber } from '../../parts/typed-number.ts'
import { useSubmission } from '../../state/submission.ts'

type Autoscaling = NonNullable<NewCluster['autoscaling']>

const NO_TEXTS = {
  name: '',
  region: '',
  endpoint: '',
  runtime: '',
  kv_cache: '',
  orchestrator: '',
  min_replicas: '',
  max_replicas: '',
  target_ttft_ms: '',
}
type Texts = typeof NO_TEXTS

// §4.5: the service takes the envelope whole or not at all, so what is not typed is filled in with its defaults.
const AUTOSCALING: Autoscaling = { min_replicas: 1, max_replicas: 4, target_ttft_ms: 500 }

interface Input {
  name: keyof Texts
  label: string
  hint?: string
  placeholder?: string
  after?: string
}

const FIRST: readonly Input[] = [
  { name: 'name', label: 'Name', hint: 'What people call it.' },
  { name: 'region', label: 'Region', hint: 'Where it runs, such as eu-west-1. Projects may allow only some regions.' },
]
const ENDPOINT: Input = {
  name: 'endpoint',
  label: 'Endpoint',
  hint: 'Where it speaks the OpenAI API. Without one nothing is sent there.',
  placeholder: 'https://atlas.example.com/v1',
}
const LANES: readonly Input[] = [
  { name: 'runtime', label: 'Runtime', placeholder: 'vllm' },
  { name: 'kv_cache', label: 'KV-cache layer', placeholder: 'lmcache' },
  { name: 'orchestrator', label: 'Orchestrator', placeholder: 'llm-d' },
]
const SCALING: readonly (Input & { name: keyof Autoscaling })[] = [
  { name: 'min_replicas', label: 'Replicas at least', placeholder: String(AUTOSCALING.min_replicas) },
  { name: 'max_replicas', label: 'Replicas at most', placeholder: String(AUTOSCALING.max_replicas) },
  {
    name: 'target_ttft_ms',
    label: 'Time to first token to hold',
    placeholder: String(AUTOSCALING.target_ttft_ms),
    after: 'ms',
  },
]
const scaled = (name: keyof Autoscaling) => `autoscaling.${name}`
const FIELDS = [...FIRST, ENDPOINT, ...LANES].map(({ name }) => name as string)
const ALL_FIELDS = FIELDS.concat(SCALING.map(({ name }) => scaled(name)))

interface RegisterDialogProps {
  onClose(): void
  onRegistered(cluster: Cluster): void
}

export function RegisterDialog({ onClose, onRegistered }: RegisterDialogProps) {
  const [texts, setTexts] = useState(NO_TEXTS)
  const sending = useSubmission(async (typed: Texts, key) => onRegistered(await registerCluster(readTexts(typed), key)))
  const field = ({ name, ...more }: Input, known_as: string = name, required = false) => (
    <Field
      key={name}
      {...more}
      name={known_as}
      required={required}
      autoComplete="off"
      value={texts[name]}
      onChange={(text) => setTexts({ ...texts, [name]: text })}
      error={sending.error}
    />
  )
  function onSubmit(event: FormEvent) {
    event.preventDefault()
    void sending.submit(texts)
  }
  return (
    <Dialog title="Register a cluster" onClose={onClose}>
      <form className="stack" noValidate onSubmit={onSubmit}>
        {FIRST.map((one) => field(one, one.name, true))}
        {field(ENDPOINT)}
        <details className="more">
          <summary>What it is made of</summary>
          <div className="stack">{LANES.map((one) => field(one))}</div>
        </details>
        <details className="more">
          <summary>Autoscaling</summary>
          <div className="stack">{SCALING.map((one) => field(one, scaled(one.name)))}</div>
        </details>
        <FormError error={sending.error} fields={ALL_FIELDS} />
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" busy={sending.busy}>
            Register cluster
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

function readTexts(texts: Texts): NewCluster {
  const { name, region } = texts
  const given = (['endpoint', 'runtime', 'kv_cache', 'orchestrator'] as const)
    .map((field) => [field, texts[field].trim()] as const)
    .filter(([, text]) => text !== '')
  const typed = SCALING.flatMap(({ name }) => {
    const number = typedNumber(scaled(name), texts[name])
    return number === undefined ? [] : [[name, number] as const]
  })
  return {
    name,
    region,
    ...Object.fromEntries(given),
    ...(typed.length > 0 && { autoscaling: { ...AUTOSCALING, ...Object.fromEntries(typed) } }),
  }
}
