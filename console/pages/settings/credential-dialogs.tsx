// Enter a credential, whose secret leaves this page with the dialog; revoke one.
import { useId, useRef, useState } from 'react'
import type { ApiError } from '../../api/api-client.ts'
import { type Credential, enterCredential, type NewCredential, revokeCredential } from '../../api/settings-calls.ts'
import { ConfirmDialog, Dialog } from '../../parts/dialog.tsx'
import { Field, SecretField } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { useToast } from '../../parts/toasts.tsx'
import { useSubmission } from '../../state/submission.ts'

interface DialogProps {
  onClose(): void
  onChanged(): void
}

const FIELDS = ['provider', 'name', 'secret', 'base_url']
const KNOWN = ['openai', 'anthropic', 'gemini', 'groq', 'together', 'mistral', 'deepseek', 'moonshot']

export function EnterCredentialDialog({ onClose, onChanged }: DialogProps) {
  const [typed, setTyped] = useState({ provider: '', name: '', base_url: '' })
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
    const { base_url, ...rest } = typed
    const body = { ...rest, secret: secret.current?.value ?? '', ...(base_url.trim() !== '' && { base_url }) }
    void sending.submit(body)
  }
  const { error } = sending
  return (
    <Dialog title="Enter a provider credential" onClose={onClose}>
      <Form action="Enter credential" busy={sending.busy} onSubmit={submit} onCancel={onClose}>
        <ProviderField value={typed.provider} onChange={(provider) => set({ provider })} error={error} />
        <Field
          label="Name"
          name="name"
          required
          autoComplete="off"
          value={typed.name}
          onChange={(name) => set({ name })}
          error={error}
        />
        <SecretField
          ref={secret}
          label="Secret"
          name="secret"
          required
          error={error}
          hint="Sealed as it arrives, and never shown again."
        />
        <Field
          label="Address"
          name="base_url"
          inputMode="url"
          autoComplete="off"
          value={typed.base_url}
          onChange={(base_url) => set({ base_url })}
          error={error}
          placeholder="Where the provider is usually called"
        />
        <FormError error={error} fields={FIELDS} />
      </Form>
    </Dialog>
  )
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
        Its secret is deleted here at once, and cannot be brought back. From the next request on, calls to{' '}
        {credential.provider} run another way, or are refused where there is none. At the provider the key stays valid:
        revoke it there too if it leaked.
      </p>
    </ConfirmDialog>
  )
}
