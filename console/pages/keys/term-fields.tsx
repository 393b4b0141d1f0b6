// What a key is bound to beyond its scope: until when (R60), for which models (R62), from which networks (R63),
// which clusters it reports for (R74), and what a call gets that the budget does not buy (R76).
import type { ApiError } from '../../api/api-client.ts'
import type { ApiKey, KeyChanges } from '../../api/key-calls.ts'
import { Field } from '../../parts/field.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { TextAreaField, typedLines } from '../../parts/text-area-field.tsx'
import { inputFrom, typedInstant } from '../../parts/times.ts'

export const TERMS = ['expires_at', 'allowed_models', 'allowed_cidrs', 'allowed_clusters', 'clamp_output'] as const
export type TermTexts = Record<(typeof TERMS)[number], string>

export const NO_TERMS: TermTexts = {
  expires_at: '',
  allowed_models: '',
  allowed_cidrs: '',
  allowed_clusters: '',
  clamp_output: '',
}

export const termTexts = (key: ApiKey): TermTexts => ({
  expires_at: inputFrom(key.expires_at),
  allowed_models: key.allowed_models?.join('\n') ?? '',
  allowed_cidrs: key.allowed_cidrs?.join('\n') ?? '',
  allowed_clusters: key.allowed_clusters?.join('\n') ?? '',
  clamp_output: key.clamp_output ? CLAMPED : '',
})

/** Null lifts what nothing was typed for. */
export const typedTerms = (texts: TermTexts): Required<Pick<KeyChanges, (typeof TERMS)[number]>> => ({
  expires_at: typedInstant(texts.expires_at),
  allowed_models: typedLines(texts.allowed_models),
  allowed_cidrs: typedLines(texts.allowed_cidrs),
  allowed_clusters: typedLines(texts.allowed_clusters),
  clamp_output: texts.clamp_output === CLAMPED ? true : null,
})

const CLAMPED = 'clamped'
const OUTPUT_CHOICES = [
  { value: '', label: 'Refuse the call' },
  { value: CLAMPED, label: 'Give what the budget buys' },
]

interface TermFieldsProps {
  texts: TermTexts
  onChange(texts: TermTexts): void
  error: ApiError | undefined
  /** A child ends when it was made to. */
  fixed_end?: boolean
}

export const TermFields = ({ texts, onChange, error, fixed_end = false }: TermFieldsProps) => (
  <>
    {!fixed_end && (
      <Field
        label="Expires"
        name="expires_at"
        type="datetime-local"
        value={texts.expires_at}
        onChange={(expires_at) => onChange({ ...texts, expires_at })}
        error={error}
        hint="In UTC. After that it is refused like an unknown key."
      />
    )}
    <TextAreaField
      label="Allowed models"
      name="allowed_models"
      value={texts.allowed_models}
      onChange={(allowed_models) => onChange({ ...texts, allowed_models })}
      error={error}
      placeholder={'Any model'}
      hint="One a line. A * at the end stands for whatever follows; an alias needs its own name."
    />
    <TextAreaField
      label="Allowed networks"
      name="allowed_cidrs"
      value={texts.allowed_cidrs}
      onChange={(allowed_cidrs) => onChange({ ...texts, allowed_cidrs })}
      error={error}
      placeholder={'Any address'}
      hint="CIDRs, one a line, such as 203.0.113.0/24. From anywhere else the key is refused."
    />
    <TextAreaField
      label="Allowed clusters"
      name="allowed_clusters"
      value={texts.allowed_clusters}
      onChange={(allowed_clusters) => onChange({ ...texts, allowed_clusters })}
      error={error}
      placeholder={'Those of the scope'}
      hint="Ids of clusters, one a line: the only ones that the key sends heartbeats for."
    />
    <SelectField
      label="Output beyond the budget"
      name="clamp_output"
      value={texts.clamp_output}
      options={OUTPUT_CHOICES}
      onChange={(clamp_output) => onChange({ ...texts, clamp_output })}
      error={error}
      hint="Of a call that allows more than is left. One that sets no limit always gets what the budget buys."
    />
  </>
)
