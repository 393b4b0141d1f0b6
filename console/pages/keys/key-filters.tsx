// Which of the keys are shown: by what somebody remembers of them, and by state.
import { type RefObject, useId } from 'react'
import type { RowFilter } from '../../parts/data-table.tsx'
import { type KeyRow, levelOf } from './key-family.ts'

const STATES = ['all', 'active', 'expired', 'revoked', 'near', 'children'] as const
type StateFilter = (typeof STATES)[number]

const NAMES: Record<StateFilter, string> = {
  all: 'All states',
  active: 'Active',
  expired: 'Expired',
  revoked: 'Revoked',
  near: 'Near or over budget',
  children: 'Child keys',
}

export interface KeyFilter {
  text: string
  state: StateFilter
}

export const NO_FILTER: KeyFilter = { text: '', state: 'all' }

export function keyFilter({ text, state }: KeyFilter): RowFilter<KeyRow> {
  const wanted = text.trim().toLowerCase()
  const isNamed = ({ name, masked, id, parent_name = '' }: KeyRow) =>
    [name, masked, id, parent_name].some((one) => one.toLowerCase().includes(wanted))
  return { of: `${state} ${wanted}`, matches: (key) => inState(key, state) && isNamed(key) }
}

function inState(key: KeyRow, asked: StateFilter): boolean {
  if (asked === 'all') return true
  if (asked === 'children') return key.parent_id !== undefined
  if (asked !== 'near') return key.state === asked
  return key.state === 'active' && ['near', 'reached'].includes(levelOf(key))
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
