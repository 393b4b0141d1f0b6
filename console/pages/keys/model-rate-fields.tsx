// §8.1.2: what a key may ask of single models, as one edits it: a model, and how much of it in a minute.
import type { ApiError } from '../../api/api-client.ts'
import type { ApiKeyLimits } from '../../api/key-calls.ts'
import { shortCount } from '../../parts/amounts.ts'
import { Button } from '../../parts/button.tsx'
import { type Asked, DraftFields } from '../../parts/draft-fields.tsx'
import { typedNumber } from '../../parts/typed-number.ts'

type ModelRate = NonNullable<ApiKeyLimits['models']>[number]

export interface RateDraft {
  id: number
  model: string
  requests_per_minute: string
  tokens_per_minute: string
}

const RATES_MAX = 100 // §8.1.2
const NUMBERS = ['requests_per_minute', 'tokens_per_minute'] as const
let ids = 0

const draftOf = (rate?: ModelRate): RateDraft => ({
  id: ++ids,
  model: rate?.model ?? '',
  requests_per_minute: String(rate?.requests_per_minute ?? ''),
  tokens_per_minute: String(rate?.tokens_per_minute ?? ''),
})

export const rateDrafts = (models: ApiKeyLimits['models']) => (models ?? []).map(draftOf)

/** Null gives the key what every key has. */
export const typedRates = (drafts: readonly RateDraft[]): ApiKeyLimits['models'] =>
  drafts.length === 0 ? null : drafts.map(typedRate)

const typedRate = (draft: RateDraft, at: number): ModelRate => ({
  model: draft.model.trim(),
  ...Object.fromEntries(
    NUMBERS.map((name) => [name, typedNumber(`models[${at}].${name}`, draft[name])] as const).filter(
      ([, typed]) => typed !== undefined,
    ),
  ),
})

const fieldsAt = (at: number): readonly Asked<RateDraft>[] => [
  { of: 'model', name: `models[${at}].model`, label: 'Model', required: true, placeholder: 'gpt-4o*' },
  {
    of: 'requests_per_minute',
    name: `models[${at}].requests_per_minute`,
    label: 'Requests a minute',
    inputMode: 'numeric',
  },
  { of: 'tokens_per_minute', name: `models[${at}].tokens_per_minute`, label: 'Tokens a minute', inputMode: 'numeric' },
]

export const rateFields = (drafts: readonly RateDraft[]) =>
  drafts.flatMap((_, at) => fieldsAt(at).map(({ name = '' }) => name))

interface ModelRateFieldsProps {
  drafts: readonly RateDraft[]
  onChange(drafts: readonly RateDraft[]): void
  error: ApiError | undefined
}

export const ModelRateFields = ({ drafts, onChange, error }: ModelRateFieldsProps) => (
  <div className="stack">
    <div>
      <h3>Single models</h3>
      <p className="muted">
        Counted beside the limits above, by the name that a request gives. A * at the end stands for whatever follows;
        the name that fits best counts.
      </p>
    </div>
    {drafts.map((draft, at) => (
      <fieldset key={draft.id} className="target-fields">
        <legend>Model {at + 1}</legend>
        <div className="form-grid">
          <DraftFields
            asked={fieldsAt(at)}
            draft={draft}
            change={(changed) => onChange(drafts.map((one) => (one === draft ? { ...draft, ...changed } : one)))}
            error={error}
          />
        </div>
        <Button
          look="quiet"
          onClick={() => onChange(drafts.filter((one) => one !== draft))}
          aria-label={`Remove model ${at + 1}`}
        >
          Remove
        </Button>
      </fieldset>
    ))}
    <span>
      <Button disabled={drafts.length >= RATES_MAX} onClick={() => onChange([...drafts, draftOf()])}>
        Add model
      </Button>
    </span>
  </div>
)

/** `gpt-4o*: 60 requests, 100K tokens`. */
export function rateWords({ model, requests_per_minute: requests, tokens_per_minute: tokens }: ModelRate): string {
  const parts = [
    ...(requests === undefined ? [] : [`${shortCount(requests)} requests`]),
    ...(tokens === undefined ? [] : [`${shortCount(tokens)} tokens`]),
  ]
  return `${model}: ${parts.join(', ')}`
}
