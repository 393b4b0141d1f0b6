// What a key may spend: in all (R6), and in each day, week or month of UTC beside that (R65).
import type { ApiError } from '../../api/api-client.ts'
import type { ApiKey, KeySpendingLimit, Period } from '../../api/key-calls.ts'
import { Field } from '../../parts/field.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { typedNumber } from '../../parts/typed-number.ts'

const MICROS = 1_000_000

export const BUDGETS = ['limit_usd', 'window.limit_usd'] as const

export interface BudgetTexts {
  limit_usd: string
  period: Period | 'none'
  window_usd: string
}

export const NO_BUDGET: BudgetTexts = { limit_usd: '', period: 'none', window_usd: '' }

const usd = (micros: number | undefined) => (micros === undefined ? '' : String(micros / MICROS))

export const budgetTexts = ({ budget_micros, window }: ApiKey): BudgetTexts => ({
  limit_usd: usd(budget_micros),
  period: window?.period ?? 'none',
  window_usd: usd(window?.limit_micros),
})

/** Null lifts a limit. A period without an amount is no limit. */
export function typedBudget({ limit_usd, period, window_usd }: BudgetTexts): Required<KeySpendingLimit> {
  const amount = period === 'none' ? undefined : typedNumber('window.limit_usd', window_usd)
  return {
    limit_usd: typedNumber('limit_usd', limit_usd) ?? null,
    window: period === 'none' || amount === undefined ? null : { period, limit_usd: amount },
  }
}

export const isUnlimited = ({ limit_usd, window }: KeySpendingLimit) => limit_usd === null && window === null

export const PERIODS: Record<Period, string> = { day: 'a day', week: 'a week', month: 'a month' }

const CHOICES = [
  { value: 'none', label: 'No calendar limit' },
  { value: 'day', label: 'Each day' },
  { value: 'week', label: 'Each week, from Monday' },
  { value: 'month', label: 'Each month' },
] as const

interface BudgetFieldsProps {
  texts: BudgetTexts
  onChange(texts: BudgetTexts): void
  error: ApiError | undefined
  hint: string
}

export const BudgetFields = ({ texts, onChange, error, hint }: BudgetFieldsProps) => (
  <>
    <Field
      label="Spending limit"
      name="limit_usd"
      inputMode="decimal"
      autoComplete="off"
      before="$"
      after="USD in all"
      value={texts.limit_usd}
      onChange={(limit_usd) => onChange({ ...texts, limit_usd })}
      error={error}
      hint={hint}
    />
    <div className="pair">
      <SelectField
        label="Limit by the calendar"
        value={texts.period}
        options={CHOICES}
        onChange={(period) => onChange({ ...texts, period })}
      />
      {texts.period !== 'none' && (
        <Field
          label="At most"
          name="window.limit_usd"
          inputMode="decimal"
          autoComplete="off"
          required
          before="$"
          after={PERIODS[texts.period]}
          value={texts.window_usd}
          onChange={(window_usd) => onChange({ ...texts, window_usd })}
          error={error}
        />
      )}
    </div>
  </>
)
