// Which keys are looked for: their states as people think of them, and what a key is remembered by.
import type { RowFilter } from '../../parts/data-table.tsx'
import { type SearchFilter, searched } from '../../parts/search-filters.tsx'
import type { Option } from '../../parts/select-field.tsx'
import { type KeyRow, levelOf } from './key-family.ts'

type StateFilter = 'all' | 'active' | 'expired' | 'revoked' | 'near' | 'children'

export const KEY_STATES: readonly Option<StateFilter>[] = [
  { value: 'all', label: 'All states' },
  { value: 'active', label: 'Active' },
  { value: 'expired', label: 'Expired' },
  { value: 'revoked', label: 'Revoked' },
  { value: 'near', label: 'Near or over budget' },
  { value: 'children', label: 'Child keys' },
]

export type KeyFilter = SearchFilter<StateFilter>
export const NO_FILTER: KeyFilter = { text: '', state: 'all' }

export const keyFilter = (filter: KeyFilter): RowFilter<KeyRow> =>
  searched(filter, { inState, words: ({ name, masked, id, parent_name = '' }) => [name, masked, id, parent_name] })

function inState(key: KeyRow, asked: StateFilter): boolean {
  if (asked === 'all') return true
  if (asked === 'children') return key.parent_id !== undefined
  if (asked !== 'near') return key.state === asked
  return key.state === 'active' && ['near', 'reached'].includes(levelOf(key))
}
