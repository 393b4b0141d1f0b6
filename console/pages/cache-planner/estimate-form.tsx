// §4.9: what an estimate is made of: model, GPUs, how long the prefix is, which tiers there are, how busy they are.
import { useId } from 'react'
import type { ApiError } from '../../api/api-client.ts'
import type { CacheFigures } from '../../api/cache-plan-calls.ts'
import { CheckField } from '../../parts/check-field.tsx'
import { Field } from '../../parts/field.tsx'
import { type Option, SelectField } from '../../parts/select-field.tsx'
import { COMPRESSIONS, type EstimateDraft, type EstimatedTierDraft, LOAD_MAX_PCT } from './estimate-draft.ts'

interface EstimateFormProps {
  figures: CacheFigures
  draft: EstimateDraft
  onChange(draft: EstimateDraft): void
  error: ApiError | undefined
}

const same = (value: string) => ({ value, label: value })
const PRECISIONS = [same('bf16'), same('fp8')]

type TextField = 'model' | 'gpu_type' | 'gpu_count' | 'prefix_tokens' | 'precision' | 'kv_precision'

interface Asked {
  /** As the draft calls it, and as the service does. */
  field: TextField
  name: string
  label: string
  /** Typed where there are none. */
  options?: readonly Option[]
  after?: string
}

const asked = ({ models, gpus }: CacheFigures): Asked[] => [
  { field: 'model', name: 'model', label: 'Model', options: models.map(({ id }) => same(id)) },
  { field: 'gpu_type', name: 'gpu.type', label: 'GPU', options: gpus.map(({ type }) => same(type)) },
  { field: 'gpu_count', name: 'gpu.count', label: 'GPUs' },
  { field: 'prefix_tokens', name: 'prefix_tokens', label: 'Prefix', after: 'tokens' },
  { field: 'precision', name: 'gpu.precision', label: 'Weights', options: PRECISIONS },
  { field: 'kv_precision', name: 'kv_bytes_per_value', label: 'KV cache', options: PRECISIONS },
]

export function EstimateForm({ figures, draft, onChange, error }: EstimateFormProps) {
  const put = (change: Partial<EstimateDraft>) => onChange({ ...draft, ...change })
  return (
    <div className="stack">
      <div className="form-grid">
        {asked(figures).map(({ field, options, ...one }) => {
          const common = { ...one, value: draft[field], onChange: (text: string) => put({ [field]: text }), error }
          return options ? (
            <SelectField key={field} {...common} options={options} />
          ) : (
            <Field key={field} {...common} inputMode="numeric" autoComplete="off" required />
          )
        })}
      </div>
      <TierChoice figures={figures} tiers={draft.tiers} onChange={(tiers) => put({ tiers })} />
      <LoadSlider value={draft.load_pct} onChange={(load_pct) => put({ load_pct })} />
    </div>
  )
}

interface TierChoiceProps {
  figures: CacheFigures
  tiers: readonly EstimatedTierDraft[]
  onChange(tiers: readonly EstimatedTierDraft[]): void
}

function TierChoice({ figures, tiers, onChange }: TierChoiceProps) {
  const change = (changed: EstimatedTierDraft) =>
    onChange(tiers.map((one) => (one.kind === changed.kind ? changed : one)))
  return (
    <table className="table tier-choice">
      <caption className="visually-hidden">Tiers that are estimated</caption>
      <thead>
        <tr>
          <th scope="col">Tier</th>
          <th scope="col">GB/s for one GPU</th>
          <th scope="col">Packed with</th>
        </tr>
      </thead>
      <tbody>
        {tiers.map((tier) => (
          <tr key={tier.kind}>
            <td data-label="Tier">
              <CheckField checked={tier.used} onChange={(used) => change({ ...tier, used })}>
                <code>{tier.kind}</code>
              </CheckField>
            </td>
            <td data-label="GB/s for one GPU">
              {tier.kind === 'gpu_hbm' ? (
                <span className="muted">there already</span>
              ) : (
                <input
                  className="cell-input cell-number"
                  inputMode="decimal"
                  aria-label={`Bandwidth of ${tier.kind}, in GB/s`}
                  placeholder={usualRate(figures, tier.kind)}
                  value={tier.gigabytes_per_s}
                  onChange={(event) => change({ ...tier, gigabytes_per_s: event.target.value })}
                />
              )}
            </td>
            <td data-label="Packed with">
              <select
                className="cell-input"
                aria-label={`Compression of ${tier.kind}`}
                value={tier.compression}
                onChange={(event) =>
                  change({ ...tier, compression: event.target.value as EstimatedTierDraft['compression'] })
                }
              >
                {COMPRESSIONS.map((one) => (
                  <option key={one}>{one}</option>
                ))}
              </select>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const LINKS = { pcie: 'PCIe', nic: 'network' } as const

function usualRate({ tiers }: CacheFigures, kind: EstimatedTierDraft['kind']): string {
  const usual = tiers.find((one) => one.kind === kind)
  if (usual?.share_of) return `${Math.round(usual.share_of.share * 100)}% of ${LINKS[usual.share_of.rate]}`
  return usual?.gigabytes_per_s ? String(usual.gigabytes_per_s) : ''
}

function LoadSlider({ value, onChange }: { value: number; onChange(value: number): void }) {
  const id = useId()
  return (
    <div className="slider">
      <label htmlFor={id}>How busy the tiers are</label>
      <input
        id={id}
        type="range"
        min={0}
        max={LOAD_MAX_PCT}
        step={5}
        value={value}
        onChange={(event) => onChange(Number(event.target.value))}
      />
      <output htmlFor={id}>{value}%</output>
    </div>
  )
}
