// A line of text to type, with its label, its hint and what is wrong with it.
import type { InputHTMLAttributes, Ref } from 'react'
import { type FieldWords, LabelledField } from './labelled-field.tsx'

type Input = Omit<InputHTMLAttributes<HTMLInputElement>, 'onChange' | 'id' | 'prefix' | 'value'>

interface Surrounded extends Input {
  name: string
  /** What stands before and after what is typed, such as a unit. */
  before?: string
  after?: string
}

interface FieldProps extends FieldWords, Surrounded {
  value: string
  onChange(value: string): void
}

export const Field = ({ onChange, ...field }: FieldProps) => (
  <InputField {...field} onChange={(event) => onChange(event.target.value)} />
)

interface SecretFieldProps extends FieldWords, Input {
  name: string
  ref: Ref<HTMLInputElement>
}

/** What is typed here is in no state of the page: it is read out of the input when it is sent. */
export const SecretField = (field: SecretFieldProps) => <InputField {...field} type="password" autoComplete="off" />

type InputFieldProps = FieldWords &
  Surrounded &
  Pick<InputHTMLAttributes<HTMLInputElement>, 'value' | 'onChange'> & { ref?: Ref<HTMLInputElement> }

const InputField = ({ label, hint, error, before, after, ...input }: InputFieldProps) => (
  <LabelledField label={label} name={input.name} hint={hint} error={error} optional={!input.required}>
    {(tied) => (
      <div className="field-input">
        {before && <span aria-hidden="true">{before}</span>}
        <input {...input} {...tied} />
        {after && <span aria-hidden="true">{after}</span>}
      </div>
    )}
  </LabelledField>
)
