// Enter a credential, whose secret leaves this page with the dialog; revoke one.
import { useId, useRef, useState } from 'react'
import type { ApiError } from '../../api/api-client.ts'
import { type Credential, enterCredential, type NewCredential, revokeCredential } from '../../api/settings-calls.ts'
import { ConfirmDialog, Dialog } from '../../parts/dialog.tsx'
import { type Asked, DraftFields } from '../../parts/draft-fields.tsx'
import { Field, SecretField } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { useToast } from '../../parts/toasts.tsx'
import { useSubmission } from '../../state/submission.ts'
import { enteredCredential } from './entered-credential.ts'

interface DialogProps {
  onClose(): void
  onChanged(): void
}

const FIELDS = ['provider', 'name', 'secret', 'base_url', 'region', 'api_version', 'models']
const KNOWN = [
  ...['openai', 'anthropic', 'gemini', 'groq', 'together', 'mistral', 'deepseek', 'moonshot'],
  ...['azure', 'bedrock', 'vertex'],
]
const NOTHING = { provider: '', name: '', base_url: '', region: '', api_version: '', models: '' }

export function EnterCredentialDialog({ onClose, onChanged }: DialogProps) {
  const [typed, setTyped] = useState(NOTHING)
  const set = (more: Partial<typeof typed>) => setTyped((before) => ({ ...before, ...more }))
  // React keeps states for a while; the secret is in none of them, only in the input.
  const secret = useRef<HTMLInputElement>(null)
  const say = useToast()
  const sending = useSubmission(async (body: NewCredential, idempotency_key) => {
    const { name } = await enterCredential(body, idempotency_key)
    if (secret.current) secret.current.value = ''
    say(`${name} is entered. Verify it to see whether the provider accepts it.`)
    onChanged()
    onClose()
  })
  function submit() {
    void sending.submit(enteredCredential(typed, secret.current?.value ?? ''))
  }
  const { error } = sending
  return (
    <Dialog title="Enter a provider credential" onClose={onClose}>
      <Form action="Enter credential" busy={sending.busy} onSubmit={submit} onCancel={onClose}>
        <ProviderField value={typed.provider} onChange={(provider) => set({ provider })} error={error} />
        <DraftFields asked={NAME} draft={typed} change={set} error={error} />
        <SecretField
          ref={secret}
          label="Secret"
          name="secret"
          required
          error={error}
          hint="Sealed as it arrives, and never shown again. AWS’s keys and a service account of Google’s as JSON."
        />
        <DraftFields asked={placeFields(typed.provider)} draft={typed} change={set} error={error} />
        <FormError error={error} fields={FIELDS} />
      </Form>
    </Dialog>
  )
}

const NAME: readonly Asked<typeof NOTHING>[] = [{ of: 'name', label: 'Name', required: true }]

/** Where it is called, with what only Azure, Bedrock and Vertex ask for, and the models of any. */
const placeFields = (provider: string): Asked<typeof NOTHING>[] => [
  { of: 'base_url', label: 'Address', inputMode: 'url', placeholder: 'Where the provider is usually called' },
  ...(provider === 'bedrock' || provider === 'vertex' ? [regionField(provider)] : []),
  ...(provider === 'azure' ? [API_VERSION] : []),
  {
    of: 'models',
    label: 'Models',
    hint: 'What requests call each, and what the provider calls it: name=deployment, name=deployment.',
  },
]

const regionField = (provider: 'bedrock' | 'vertex'): Asked<typeof NOTHING> => ({
  of: 'region',
  label: 'Region',
  required: true,
  placeholder: provider === 'bedrock' ? 'us-east-1' : 'us-east5',
})

const API_VERSION: Asked<typeof NOTHING> = {
  of: 'api_version',
  label: 'API version',
  hint: 'Left out for the form without one.',
  placeholder: '2024-10-21',
}

interface ProviderFieldProps {
  value: string
  onChange(value: string): void
  error: ApiError | undefined
}

function ProviderField(field: ProviderFieldProps) {
  const list = useId()
  return (
    <>
      <Field
        {...field}
        label="Provider"
        name="provider"
        required
        list={list}
        autoComplete="off"
        hint="Its id, such as openai."
      />
      <datalist id={list}>
        {KNOWN.map((id) => (
          <option key={id} value={id} />
        ))}
      </datalist>
    </>
  )
}

export function RevokeCredentialDialog({ credential, onClose, onChanged }: DialogProps & { credential: Credential }) {
  const say = useToast()
  const sending = useSubmission(async (id: string) => {
    await revokeCredential(id)
    say(`${credential.name} is revoked.`)
    onChanged()
    onClose()
  })
  return (
    <ConfirmDialog
      title={`Revoke ${credential.name}?`}
      action="Revoke credential"
      typed={credential.name}
      busy={sending.busy}
      error={sending.error}
      onConfirm={() => void sending.submit(credential.id)}
      onClose={onClose}
    >
      <p>
        Its secret is deleted here at once, and cannot be restored. From the next request on, calls to{' '}
        {credential.provider} run another way, or are refused where there is none. At the provider the key stays valid:
        revoke it there too if it leaked.
      </p>
    </ConfirmDialog>
  )
}
