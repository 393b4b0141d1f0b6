// §4.5: register a cluster. What it is called and where it runs is enough; the rest has defaults.
import { useState } from 'react'
import { type Cluster, type NewCluster, registerCluster } from '../../api/cluster-calls.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { type Asked, DraftFields } from '../../parts/draft-fields.tsx'
import { Form } from '../../parts/form.tsx'
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

const FIRST: readonly Asked<Texts>[] = [
  { of: 'name', label: 'Name', required: true, hint: 'What people call it.' },
  {
    of: 'region',
    label: 'Region',
    required: true,
    hint: 'Where it runs, such as eu-west-1. Projects may allow only some regions.',
  },
  {
    of: 'endpoint',
    label: 'Endpoint',
    hint: 'Where it speaks the OpenAI API. Without one nothing is sent there.',
    placeholder: 'https://atlas.example.com/v1',
  },
]
const LANES: readonly Asked<Texts>[] = [
  { of: 'runtime', label: 'Runtime', placeholder: 'vllm' },
  { of: 'kv_cache', label: 'KV-cache layer', placeholder: 'lmcache' },
  { of: 'orchestrator', label: 'Orchestrator', placeholder: 'llm-d' },
]
const SCALED = Object.keys(AUTOSCALING) as (keyof Autoscaling)[]
const SCALING_LABELS: Record<keyof Autoscaling, string> = {
  min_replicas: 'Replicas at least',
  max_replicas: 'Replicas at most',
  target_ttft_ms: 'Time to first token to hold',
}
const scaled = (name: keyof Autoscaling) => `autoscaling.${name}`
const SCALING: readonly Asked<Texts>[] = SCALED.map((of) => ({
  of,
  name: scaled(of),
  label: SCALING_LABELS[of],
  placeholder: String(AUTOSCALING[of]),
  ...(of === 'target_ttft_ms' && { after: 'ms' }),
}))
const FIELDS = [...FIRST, ...LANES, ...SCALING].map(({ of, name = of }) => name)

interface RegisterDialogProps {
  onClose(): void
  onRegistered(cluster: Cluster): void
}

export function RegisterDialog({ onClose, onRegistered }: RegisterDialogProps) {
  const [texts, setTexts] = useState(NO_TEXTS)
  const sending = useSubmission(async (typed: Texts, key) => onRegistered(await registerCluster(readTexts(typed), key)))
  const typing = {
    draft: texts,
    change: (changed: Partial<Texts>) => setTexts({ ...texts, ...changed }),
    error: sending.error,
  }
  return (
    <Dialog title="Register a cluster" onClose={onClose}>
      <Form
        action="Register cluster"
        busy={sending.busy}
        onSubmit={() => void sending.submit(texts)}
        onCancel={onClose}
      >
        <DraftFields asked={FIRST} {...typing} />
        <details className="more">
          <summary>What it is made of</summary>
          <div className="stack">
            <DraftFields asked={LANES} {...typing} />
          </div>
        </details>
        <details className="more">
          <summary>Autoscaling</summary>
          <div className="stack">
            <DraftFields asked={SCALING} {...typing} />
          </div>
        </details>
        <FormError error={sending.error} fields={FIELDS} />
      </Form>
    </Dialog>
  )
}

function readTexts(texts: Texts): NewCluster {
  const { name, region } = texts
  const given = (['endpoint', 'runtime', 'kv_cache', 'orchestrator'] as const)
    .map((field) => [field, texts[field].trim()] as const)
    .filter(([, text]) => text !== '')
  const typed = SCALED.flatMap((of) => {
    const number = typedNumber(scaled(of), texts[of])
    return number === undefined ? [] : [[of, number] as const]
  })
  return {
    name,
    region,
    ...Object.fromEntries(given),
    ...(typed.length > 0 && { autoscaling: { ...AUTOSCALING, ...Object.fromEntries(typed) } }),
  }
}
