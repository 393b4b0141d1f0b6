// Which of the keys are shown: by what somebody remembers of them, and by state.
import { type RefObject, useId } from 'react'
import type { ApiKey } from '../../api/key-calls.ts'
import { budgetLevel } from '../../parts/budget-bar.tsx'
import type { RowFilter } from '../../parts/data-table.tsx'

const STATES = ['all', 'active', 'revoked', 'near'] as const
type StateFilter = (typeof STATES)[number]

const NAMES: Record<StateFilter, string> = {
  all: 'All states',
  active: 'Active',
  revoked: 'Revoked',
  near: 'Near or over budget',
}

export interface KeyFilter {
  text: string
  state: StateFilter
}

export const NO_FILTER: KeyFilter = { text: '', state: 'all' }

export function keyFilter({ text, state }: KeyFilter): RowFilter<ApiKey> {
  const wanted = text.trim().toLowerCase()
  const isNamed = ({ name, masked, id }: ApiKey) => [name, masked, id].some((one) => one.toLowerCase().includes(wanted))
  return { of: `${state} ${wanted}`, matches: (key) => inState(key, state) && isNamed(key) }
}

function inState({ status, spent_micros, budget_micros }: ApiKey, state: StateFilter): boolean {
  if (state === 'all') return true
  if (state !== 'near') return status === state
  return status === 'active' && ['near', 'reached'].includes(budgetLevel({ spent_micros, limit_micros: budget_micros }))
}

interface KeyFiltersProps {
  filter: KeyFilter
  onChange(filter: KeyFilter): void
  search: RefObject<HTMLInputElement | null>
}

export function KeyFilters({ filter, onChange, search }: KeyFiltersProps) {
  const id = useId()
  return (
    <search className="filters">
      <label className="visually-hidden" htmlFor={`${id}-text`}>
        Search keys
      </label>
      <input
        ref={search}
        id={`${id}-text`}
        type="search"
        placeholder="Search by name, id or last four"
        value={filter.text}
        onChange={(event) => onChange({ ...filter, text: event.target.value })}
      />
      <label className="visually-hidden" htmlFor={`${id}-state`}>
        State
      </label>
      <select
        id={`${id}-state`}
        value={filter.state}
        onChange={(event) => onChange({ ...filter, state: event.target.value as StateFilter })}
      >
        {STATES.map((state) => (
          <option key={state} value={state}>
            {NAMES[state]}
          </option>
        ))}
      </select>
    </search>
  )
}
