// What a provider is entered and changed with: its address, its secret, its models; tested before it is sent.
import { type Ref, useRef, useState } from 'react'
import type { ApiError } from '../../api/api-client.ts'
import {
  addProvider,
  changeProvider,
  type Entered,
  type OperatorProvider,
  type ProviderTest,
  tryProvider,
} from '../../api/provider-calls.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Field, SecretField } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { TextAreaField } from '../../parts/text-area-field.tsx'
import { useToast } from '../../parts/toasts.tsx'
import { useSubmission } from '../../state/submission.ts'
import { changesIn, draftOf, enteredProvider, NO_PROVIDER, type ProviderDraft } from './provider-draft.ts'

const FIELDS = ['id', 'protocol', 'base_url', 'region', 'max_concurrency', 'models', 'api_key']
const PROTOCOLS = (['openai', 'anthropic', 'azure', 'bedrock', 'vertex'] as const).map((value) => ({
  value,
  label: value,
}))

interface AddProps {
  onClose(): void
  onAdded(provider: OperatorProvider): void
}

export function AddProviderDialog({ onClose, onAdded }: AddProps) {
  const [draft, setDraft] = useState(NO_PROVIDER)
  // React keeps states for a while; the secret is in none of them, only in the input.
  const secret = useRef<HTMLInputElement>(null)
  const say = useToast()
  const typed = () => enteredProvider(draft, secret.current?.value ?? '')
  const sending = useSubmission(async (read: () => Entered, idempotency_key) => {
    const provider = await addProvider(read(), idempotency_key)
    if (secret.current) secret.current.value = ''
    say(`${provider.id} is added. Every server dials it within a second.`)
    onAdded(provider)
    onClose()
  })
  return (
    <Dialog title="Add a provider" onClose={onClose}>
      <Form action="Add provider" busy={sending.busy} onSubmit={() => void sending.submit(typed)} onCancel={onClose}>
        <Field
          label="Id"
          name="id"
          required
          autoComplete="off"
          value={draft.id}
          onChange={(id) => setDraft({ ...draft, id })}
          error={sending.error}
          hint="Lower case letters, digits, dots and dashes. Answers name it."
        />
        <ProviderFields draft={draft} onChange={setDraft} error={sending.error} secret={secret} />
        <TestOnTheSpot typed={typed} />
        <FormError error={sending.error} fields={FIELDS} />
      </Form>
    </Dialog>
  )
}

interface ChangeProps {
  provider: OperatorProvider
  onClose(): void
  onChanged(provider: OperatorProvider): void
}

export function ChangeProviderDialog({ provider, onClose, onChanged }: ChangeProps) {
  const { id, version = 0 } = provider
  const [before] = useState(() => draftOf((provider.entered ?? { id }) as Partial<Entered>))
  const [draft, setDraft] = useState(before)
  const secret = useRef<HTMLInputElement>(null)
  const say = useToast()
  const sending = useSubmission(async (seen: number) => {
    onChanged(await changeProvider(id, { version: seen, ...changesIn(before, draft, secret.current?.value ?? '') }))
    if (secret.current) secret.current.value = ''
    say(`${id} is changed.`)
    onClose()
  })
  return (
    <Dialog title={`Change ${id}`} onClose={onClose}>
      <Form
        action="Change provider"
        busy={sending.busy}
        onSubmit={() => void sending.submit(version)}
        onCancel={onClose}
      >
        <ProviderFields
          draft={draft}
          onChange={setDraft}
          error={sending.error}
          secret={secret}
          kept={Object.values(provider.secrets)[0]}
        />
        <FormError error={sending.error} fields={FIELDS} />
      </Form>
    </Dialog>
  )
}

interface FieldsProps {
  draft: ProviderDraft
  onChange(draft: ProviderDraft): void
  error: ApiError | undefined
  secret: Ref<HTMLInputElement>
  /** How the secret ends that is there already. */
  kept?: string | undefined
}

function ProviderFields({ draft, onChange, error, secret, kept }: FieldsProps) {
  const set = (more: Partial<ProviderDraft>) => onChange({ ...draft, ...more })
  return (
    <>
      <SelectField
        label="Protocol"
        name="protocol"
        value={draft.protocol}
        options={PROTOCOLS}
        onChange={(protocol) => set({ protocol })}
        error={error}
      />
      <Field
        label="Address"
        name="base_url"
        inputMode="url"
        autoComplete="off"
        value={draft.base_url}
        onChange={(base_url) => set({ base_url })}
        error={error}
        placeholder="https://api.example.com/v1"
      />
      <SecretField
        ref={secret}
        label="Secret"
        name="api_key"
        error={error}
        hint={kept === undefined ? SECRET_HINT : `Left empty, the one that ends in ${kept} stays.`}
      />
      <Field
        label="Region"
        name="region"
        autoComplete="off"
        value={draft.region}
        onChange={(region) => set({ region })}
        error={error}
        placeholder="global"
      />
      <Field
        label="Calls at once"
        name="max_concurrency"
        inputMode="numeric"
        autoComplete="off"
        value={draft.max_concurrency}
        onChange={(max_concurrency) => set({ max_concurrency })}
        error={error}
        placeholder="200"
      />
      <TextAreaField
        label="Models"
        name="models"
        value={draft.models}
        onChange={(models) => set({ models })}
        error={error}
        hint={MODELS_HINT}
      />
    </>
  )
}

const SECRET_HINT = 'Sealed as it arrives, and never shown again. AWS’s keys and a service account of Google’s as JSON.'
const MODELS_HINT =
  'One a line: its name, if the price book has it; else name, dollars per million in and out, tokens out.'

/** Before anything is stored. */
function TestOnTheSpot({ typed }: { typed(): Entered }) {
  const [test, setTest] = useState<ProviderTest>()
  const testing = useSubmission(async (read: () => Entered) => setTest(await tryProvider(read())))
  return (
    <div className="stack">
      <div className="row">
        <Button busy={testing.busy} onClick={() => void testing.submit(typed)}>
          Test provider
        </Button>
      </div>
      <p role="status">{test && !testing.busy ? test.message : ''}</p>
      <FormError error={testing.error} fields={[]} />
    </div>
  )
}
