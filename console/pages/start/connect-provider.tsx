// The first provider: a key or an address is pasted, kept sealed, and tested on the spot. What is refused is not kept.
import { type FormEvent, useRef, useState } from 'react'
import { ApiError } from '../../api/api-client.ts'
import { createAlias } from '../../api/routing-calls.ts'
import { enterCredential, revokeCredential, verifyCredential } from '../../api/settings-calls.ts'
import { Button } from '../../parts/button.tsx'
import { type Asked, DraftFields } from '../../parts/draft-fields.tsx'
import { SecretField } from '../../parts/field.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { Segments } from '../../parts/segments.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { useMay } from '../../state/session.tsx'
import { useSubmission } from '../../state/submission.ts'
import { aliasFor, providerOfKey } from './first-model.ts'

const KNOWN = ['openai', 'anthropic', 'gemini', 'groq', 'together', 'mistral', 'deepseek', 'moonshot']
const KINDS = [
  { id: 'key' as const, label: 'A provider’s key' },
  { id: 'address' as const, label: 'An address' },
]
type Kind = (typeof KINDS)[number]['id']

export interface Connected {
  provider: string
  /** What to ask for, where it is known already. */
  model?: string
}

interface ConnectProps {
  onConnected(connected: Connected): void
}

interface Wish {
  kind: Kind
  try: number
}

const OWN = 'own-server'
/** Servers of one's own often take any key; an empty one cannot be kept. */
const NO_KEY = 'none'
const FIELDS = ['provider', 'secret', 'base_url', 'model']

const NOTHING = { provider: 'openai', base_url: '', model: '' }
type Typed = typeof NOTHING

export function ConnectProvider({ onConnected }: ConnectProps) {
  const [kind, setKind] = useState<Kind>('key')
  const [typed, setTyped] = useState(NOTHING)
  const set = (more: Partial<Typed>) => setTyped((before) => ({ ...before, ...more }))
  // React keeps states for a while; the secret is in none of them, only in the input.
  const secret = useRef<HTMLInputElement>(null)
  const tries = useRef(0)
  const may_connect = useMay('admin')
  const connecting = useSubmission(async ({ kind: chosen }: Wish, idempotency_key) => {
    const pasted = secret.current?.value ?? ''
    const connect = chosen === 'key' ? connectKey : connectAddress
    onConnected(await connect({ ...typed, secret: pasted }, idempotency_key))
    if (secret.current) secret.current.value = ''
  })
  function submit(event: FormEvent) {
    event.preventDefault()
    // Another secret is another wish, and is in none of what is compared: so each try is one of its own.
    tries.current++
    void connecting.submit({ kind, try: tries.current })
  }
  if (!may_connect) return <p>Only owners of a project connect providers. Ask one.</p>
  const { error, busy } = connecting
  return (
    <form className="stack connect" noValidate onSubmit={submit}>
      <p>A placeholder answers until then, at no charge.</p>
      <Segments<Kind> label="What to connect" options={KINDS} value={kind} onChange={setKind} />
      {kind === 'key' ? (
        <SelectField
          label="Provider"
          name="provider"
          value={typed.provider}
          onChange={(provider) => set({ provider })}
          options={KNOWN.map((id) => ({ value: id, label: id }))}
          error={error}
        />
      ) : (
        <DraftFields asked={ADDRESS} draft={typed} change={set} error={error} />
      )}
      <SecretField
        ref={secret}
        label={kind === 'key' ? 'Key' : 'Key, where it needs one'}
        name="secret"
        required={kind === 'key'}
        error={error}
        hint="Kept sealed, and never shown again."
        onPaste={(event) => {
          const provider = providerOfKey(event.clipboardData.getData('text'))
          if (kind === 'key' && provider) set({ provider })
        }}
      />
      <FormError error={error} fields={FIELDS} />
      <span>
        <Button type="submit" look="primary" busy={busy}>
          Connect and test
        </Button>
      </span>
    </form>
  )
}

const ADDRESS: readonly Asked<Typed>[] = [
  {
    of: 'base_url',
    label: 'Address',
    required: true,
    inputMode: 'url',
    placeholder: 'http://127.0.0.1:8000/v1',
    hint: 'Of a server that speaks OpenAI’s protocol, such as vLLM or Ollama.',
  },
  { of: 'model', label: 'Model', required: true, hint: 'As that server calls it.' },
]

interface Pasted {
  provider: string
  base_url: string
  model: string
  secret: string
}

async function connectKey({ provider, secret }: Pasted, idempotency_key: string): Promise<Connected> {
  await kept({ provider, name: `${provider} key`, secret }, idempotency_key)
  return { provider }
}

/** What such a server has is not known here: an alias leads to the model. */
async function connectAddress({ base_url, model, secret }: Pasted, idempotency_key: string): Promise<Connected> {
  const asked = { provider: OWN, name: 'own server', secret: secret || NO_KEY, base_url }
  const credential_id = await kept(asked, idempotency_key)
  const name = aliasFor(model)
  await createAlias({ name, targets: [{ credential_id, model }] }, `${idempotency_key}-alias`)
  return { provider: OWN, model: name }
}

/** The id of the credential once its provider has taken it. One that is refused is gone again. */
async function kept(asked: Parameters<typeof enterCredential>[0], idempotency_key: string): Promise<string> {
  const { id } = await enterCredential(asked, idempotency_key)
  try {
    if ((await verifyCredential(id)).status === 'active') return id
  } catch (cause) {
    await revokeCredential(id)
    throw cause
  }
  await revokeCredential(id)
  throw new ApiError(400, {
    type: 'refused',
    message: `'secret' must be one that ${asked.provider} takes: it refused it.`,
  })
}
