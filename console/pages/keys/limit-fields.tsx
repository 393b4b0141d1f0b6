// The rate limits of one key (§8.1), as a form has them: empty means what every key has.
import type { ApiError } from '../../api/api-client.ts'
import type { ApiKeyLimits, NewKeyLimits } from '../../api/key-calls.ts'
import { count } from '../../parts/amounts.ts'
import { Field } from '../../parts/field.tsx'
import { typedNumber } from '../../parts/typed-number.ts'

export const LIMITS = [
  'requests_per_minute',
  'tokens_per_minute',
  'concurrent_streams',
  'max_parallel_requests',
] as const
export type LimitTexts = Record<(typeof LIMITS)[number], string>

export const LABELS: LimitTexts = {
  requests_per_minute: 'Requests a minute',
  tokens_per_minute: 'Tokens a minute',
  concurrent_streams: 'Streams at once',
  max_parallel_requests: 'Generations at once',
}

export const NO_LIMITS: LimitTexts = {
  requests_per_minute: '',
  tokens_per_minute: '',
  concurrent_streams: '',
  max_parallel_requests: '',
}

export const limitTexts = (limits: ApiKeyLimits): LimitTexts => ({
  requests_per_minute: String(limits.requests_per_minute ?? ''),
  tokens_per_minute: String(limits.tokens_per_minute ?? ''),
  concurrent_streams: String(limits.concurrent_streams ?? ''),
  max_parallel_requests: String(limits.max_parallel_requests ?? ''),
})

/** Null gives a key what every key has. */
export const typedLimits = (texts: LimitTexts): NewKeyLimits => ({
  requests_per_minute: typedNumber('requests_per_minute', texts.requests_per_minute) ?? null,
  tokens_per_minute: typedNumber('tokens_per_minute', texts.tokens_per_minute) ?? null,
  concurrent_streams: typedNumber('concurrent_streams', texts.concurrent_streams) ?? null,
  max_parallel_requests: typedNumber('max_parallel_requests', texts.max_parallel_requests) ?? null,
})

interface LimitFieldsProps {
  texts: LimitTexts
  onChange(texts: LimitTexts): void
  error: ApiError | undefined
  /** What holds now, shown where nothing is typed. */
  effective?: ApiKeyLimits['effective']
}

export const LimitFields = ({ texts, onChange, error, effective }: LimitFieldsProps) =>
  LIMITS.map((name) => (
    <Field
      key={name}
      label={LABELS[name]}
      name={name}
      inputMode="numeric"
      autoComplete="off"
      value={texts[name]}
      onChange={(value) => onChange({ ...texts, [name]: value })}
      error={error}
      placeholder={heldNow(name, effective)}
    />
  ))

function heldNow(name: (typeof LIMITS)[number], effective: LimitFieldsProps['effective']): string {
  if (name === 'max_parallel_requests') return 'No limit'
  return effective ? `${count(effective[name])}, as for every key` : 'As for every key'
}
