// Which rows of a list are shown: by what somebody remembers of them, and by the state they are in.
import { type RefObject, useId } from 'react'
import type { RowFilter } from './data-table.tsx'
import type { Option } from './select-field.tsx'

export interface SearchFilter<State extends string> {
  text: string
  state: State
}

interface SearchRules<Row, State extends string> {
  /** What a row is remembered by. */
  words(row: Row): readonly string[]
  inState(row: Row, state: State): boolean
}

export function searched<Row, State extends string>(
  { text, state }: SearchFilter<State>,
  { words, inState }: SearchRules<Row, State>,
): RowFilter<Row> {
  const wanted = text.trim().toLowerCase()
  return {
    of: `${state} ${wanted}`,
    matches: (row) => inState(row, state) && words(row).some((word) => word.toLowerCase().includes(wanted)),
  }
}

interface SearchFiltersProps<State extends string> {
  /** What is searched, in the plural, and by what. */
  what: string
  by: string
  /** Which states there are, and what they are states of. */
  states: readonly Option<State>[]
  states_label: string
  filter: SearchFilter<State>
  onChange(filter: SearchFilter<State>): void
  search: RefObject<HTMLInputElement | null>
}

export function SearchFilters<State extends string>(props: SearchFiltersProps<State>) {
  const { what, by, states, states_label, filter, onChange, search } = props
  const id = useId()
  return (
    <search className="filters">
      <label className="visually-hidden" htmlFor={`${id}-text`}>
        Search {what}
      </label>
      <input
        ref={search}
        id={`${id}-text`}
        type="search"
        placeholder={`Search by ${by}`}
        value={filter.text}
        onChange={(event) => onChange({ ...filter, text: event.target.value })}
      />
      <label className="visually-hidden" htmlFor={`${id}-state`}>
        {states_label}
      </label>
      <select
        id={`${id}-state`}
        value={filter.state}
        onChange={(event) => onChange({ ...filter, state: event.target.value as State })}
      >
        {states.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </search>
  )
}
