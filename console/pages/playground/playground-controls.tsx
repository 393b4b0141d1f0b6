// The playground's controls: which model, what it is told first, and the hints that go along (§10.1, R46).
import { useId } from 'react'
import type { ApiError } from '../../api/api-client.ts'
import type { ListedModel } from '../../api/generation-calls.ts'
import { Field } from '../../parts/field.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { TextAreaField } from '../../parts/text-area-field.tsx'
import type { Wish } from './wish.ts'

const CLASSES = [
  { value: 'unset', label: 'Not set' },
  { value: 'interactive', label: 'Interactive' },
  { value: 'standard', label: 'Standard' },
  { value: 'background', label: 'Background' },
] as const

const REUSES = [
  { value: 'unset', label: 'Not set' },
  { value: 'prefer', label: 'Prefer' },
  { value: 'require', label: 'Require' },
  { value: 'avoid', label: 'Avoid' },
] as const

interface ControlsProps {
  wish: Wish
  onChange(wish: Wish): void
  models: readonly ListedModel[]
  error: ApiError | undefined
}

export function PlaygroundControls({ wish, onChange, models, error }: ControlsProps) {
  const list = useId()
  const set = (more: Partial<Wish>) => onChange({ ...wish, ...more })
  return (
    <div className="stack">
      <Field
        label="Model or alias"
        name="model"
        required
        list={list}
        autoComplete="off"
        spellCheck={false}
        value={wish.model}
        onChange={(model) => set({ model })}
        error={error}
      />
      <datalist id={list}>
        {models.map(({ id, owned_by }) => (
          <option key={id} value={id}>
            {owned_by}
          </option>
        ))}
      </datalist>
      <TextAreaField
        label="System prompt"
        name="instructions"
        spellCheck
        value={wish.system}
        onChange={(system) => set({ system })}
        error={error}
      />
      <div className="pair">
        <NumberField label="Output limit" name="max_output_tokens" after="tokens" {...{ wish, set, error }} />
        <NumberField label="Temperature" name="temperature" {...{ wish, set, error }} />
      </div>
      <fieldset className="stack">
        <legend className="legend">Hints</legend>
        <div className="pair">
          <SelectField
            label="Class"
            value={wish.class}
            options={CLASSES}
            onChange={(chosen) => set({ class: chosen })}
          />
          <SelectField label="Reuse" value={wish.reuse} options={REUSES} onChange={(reuse) => set({ reuse })} />
        </div>
        <div className="pair">
          <NumberField label="First token" name="target_ttft_ms" after="ms" {...{ wish, set, error }} />
          <NumberField label="Deadline" name="deadline_ms" after="ms" {...{ wish, set, error }} />
        </div>
        <p className="field-hint">
          The first token is a target. Past its deadline a call is aborted and costs nothing.
        </p>
      </fieldset>
    </div>
  )
}

interface NumberFieldProps {
  label: string
  name: 'max_output_tokens' | 'temperature' | 'target_ttft_ms' | 'deadline_ms'
  after?: string
  wish: Wish
  set(more: Partial<Wish>): void
  error: ApiError | undefined
}

const NumberField = ({ label, name, after, wish, set, error }: NumberFieldProps) => (
  <Field
    label={label}
    name={name}
    inputMode="decimal"
    autoComplete="off"
    {...(after !== undefined && { after })}
    value={wish[name]}
    onChange={(text) => set({ [name]: text })}
    error={error}
  />
)
