// One of several to choose, with a label, a hint and what is wrong with it.
import { type FieldWords, LabelledField } from './labelled-field.tsx'

export interface Option<Value extends string = string> {
  value: Value
  label: string
}

interface SelectFieldProps<Value extends string> extends FieldWords {
  /** The name that the service has for it, where it can refuse what was chosen. */
  name?: string
  value: Value
  /** In the order in which they are shown. */
  options: readonly Option<Value>[]
  onChange(value: Value): void
}

export const SelectField = <Value extends string>(field: SelectFieldProps<Value>) => {
  const { label, name, hint, error, value, options, onChange } = field
  return (
    <LabelledField label={label} name={name} hint={hint} error={error}>
      {(tied) => (
        <select
          {...tied}
          name={name}
          className="select"
          value={value}
          onChange={(event) => onChange(event.target.value as Value)}
        >
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </LabelledField>
  )
}
