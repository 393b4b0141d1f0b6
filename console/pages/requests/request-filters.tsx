// What requests are narrowed down to: what holds now, each with a way to drop it, and a way to add one.
import { type FormEvent, type ReactNode, useCallback, useId, useState } from 'react'
import { findCluster, listClusters } from '../../api/cluster-calls.ts'
import { findKey, listKeys } from '../../api/key-calls.ts'
import { findRelease, listAliases } from '../../api/routing-calls.ts'
import { usageGroups } from '../../api/usage-calls.ts'
import { Button } from '../../parts/button.tsx'
import { type Choice, Combobox } from '../../parts/combobox.tsx'
import { spanLabel } from '../../parts/periods.ts'
import { moment } from '../../parts/times.ts'
import type { AddressQuery } from '../../state/address-query.ts'
import { nowMs } from '../../state/browser-clock.ts'
import { useResource } from '../../state/resource.ts'
import { KINDS, LAYERS } from '../overview/refusal-layers.ts'
import {
  FILTER_IDS,
  FILTERS,
  type FilterId,
  PLACEHOLDERS,
  RANGES,
  type RequestView,
  shownValue,
  typedFilter,
} from './request-view.ts'

interface RequestFiltersProps {
  view: RequestView
  change: AddressQuery['change']
}

export function RequestFilters({ view, change }: RequestFiltersProps) {
  return (
    <search className="filtering" aria-label="Filters">
      <span className="filters filters-few">
        <Choose
          label="Layer"
          value={view.layer ?? ''}
          options={[
            { value: '', label: 'Any layer' },
            ...KINDS.map((kind) => ({ value: kind, label: LAYERS[kind].label })),
          ]}
          onChange={(layer) => change({ layer })}
        />
        <Choose
          label="Time"
          value={view.range ?? ''}
          options={RANGES}
          onChange={(range) => change({ range, from: undefined, to: undefined })}
        />
      </span>
      <AddFilter change={change} />
      <Chips view={view} change={change} />
    </search>
  )
}

interface ChooseProps {
  label: string
  value: string
  options: readonly Choice[]
  onChange(value: string): void
}

const Choose = ({ label, value, options, onChange }: ChooseProps) => (
  <select aria-label={label} value={value} onChange={(event) => onChange(event.target.value)}>
    {options.map((option) => (
      <option key={option.value} value={option.value}>
        {option.label}
      </option>
    ))}
  </select>
)

function AddFilter({ change }: Pick<RequestFiltersProps, 'change'>) {
  const id = useId()
  const [filter, setFilter] = useState<FilterId>('key_id')
  const [text, setText] = useState('')
  const [near, setNear] = useState(false)
  const [wrong, setWrong] = useState(false)
  const choices = useChoices(near ? filter : undefined)
  function add(value: string | undefined) {
    setWrong(value === undefined)
    if (value === undefined) return
    change({ [filter]: value })
    setText('')
  }
  function submit(event: FormEvent) {
    event.preventDefault()
    // A name that was typed in full is as good as one that was chosen.
    const named = choices.filter(({ label }) => label.toLowerCase() === text.trim().toLowerCase())
    add(named.length === 1 ? named[0]?.value : typedFilter(filter, text))
  }
  return (
    <form className="filters" onSubmit={submit}>
      <select
        aria-label="Filter by"
        value={filter}
        onChange={(event) => {
          setFilter(event.target.value as FilterId)
          setWrong(false)
        }}
      >
        {FILTER_IDS.map((one) => (
          <option key={one} value={one}>
            {FILTERS[one]}
          </option>
        ))}
      </select>
      <label className="visually-hidden" htmlFor={id}>
        {FILTERS[filter]}
      </label>
      <Combobox
        id={id}
        placeholder={PLACEHOLDERS[filter]}
        text={text}
        choices={choices}
        onText={setText}
        onChoose={({ value }) => add(value)}
        onNear={() => setNear(true)}
      />
      <Button type="submit">Add filter</Button>
      {wrong && (
        <span className="field-error" role="alert">
          {PLACEHOLDERS[filter]}, please.
        </span>
      )}
    </form>
  )
}

function Chips({ view, change }: RequestFiltersProps) {
  const given = FILTER_IDS.flatMap((id) => (view.filters[id] === undefined ? [] : [[id, view.filters[id]] as const]))
  const stretch = stretchOf(view)
  if (given.length === 0 && view.error === undefined && stretch === undefined) return null
  return (
    <ul className="filter-chips" aria-label="Only what matches">
      {stretch !== undefined && (
        <Chip label="Time" of={stretch} onDrop={() => change({ from: undefined, to: undefined })}>
          {stretch}
        </Chip>
      )}
      {view.error !== undefined && (
        <Chip label="Error" of={view.error} onDrop={() => change({ error: undefined })}>
          {view.error}
        </Chip>
      )}
      {given.map(([id, value]) => (
        <Chip key={id} label={FILTERS[id]} of={value} onDrop={() => change({ [id]: undefined })}>
          <Named id={id} value={value} />
        </Chip>
      ))}
    </ul>
  )
}

const Chip = ({ label, of, children, onDrop }: { label: string; of: string; children: ReactNode; onDrop(): void }) => (
  <li className="filter-chip">
    <span>
      <span className="muted">{label}</span> {children}
    </span>
    <button type="button" aria-label={`Drop the filter ${label} ${of}`} onClick={onDrop}>
      ×
    </button>
  </li>
)

function stretchOf({ from, to }: RequestView): string | undefined {
  if (from === undefined && to === undefined) return undefined
  const [from_ms, to_ms] = [Date.parse(from ?? ''), Date.parse(to ?? '')]
  if (Number.isNaN(to_ms)) return `since ${moment(from ?? '')}`
  if (Number.isNaN(from_ms)) return `before ${moment(to ?? '')}`
  return spanLabel({ from_ms, to_ms, step: 'hour' })
}

/** By what people call it, where it has a name. */
function Named({ id, value }: { id: FilterId; value: string }) {
  const { state } = useResource(
    useCallback(
      async (signal: AbortSignal) => (await NAMES[id]?.(value, signal)) ?? shownValue(id, value),
      [id, value],
    ),
  )
  return state.kind === 'ready' ? state.value : shownValue(id, value)
}

const NAMES: Partial<Record<FilterId, (id: string, signal: AbortSignal) => Promise<string>>> = {
  key_id: async (id, signal) => (await findKey(id, signal)).name,
  cluster_id: async (id, signal) => (await findCluster(id, signal)).name,
  alias_release_id: async (id, signal) => {
    const { alias_name, version } = await findRelease(id, signal)
    return `${alias_name}, release ${version}`
  },
}

/** What there is to choose from, asked for once somebody is about to type. */
function useChoices(id: FilterId | undefined): readonly Choice[] {
  const { state } = useResource<readonly Choice[]>(
    useCallback(async (signal, tell) => (id && (await CHOICES[id]?.(signal, tell))) ?? [], [id]),
  )
  return state.kind === 'ready' ? state.value : []
}

type Choices = (signal: AbortSignal, tell: (part: readonly Choice[]) => void) => Promise<readonly Choice[]>
const KEPT_DAYS_MS = 30 * 24 * 3_600_000

const usedBy =
  (by: 'model' | 'provider'): Choices =>
  async (signal) => {
    const from = new Date(nowMs() - KEPT_DAYS_MS).toISOString()
    const groups = await usageGroups({ from, group_by: by, limit: '200' }, signal)
    return groups.map((group) => ({ value: group[by] ?? '', label: group[by] ?? '' }))
  }

const CHOICES: Partial<Record<FilterId, Choices>> = {
  key_id: async (signal, tell) => {
    const chosen = (keys: Awaited<ReturnType<typeof listKeys>>) =>
      keys.map(({ id, name, masked }) => ({ value: id, label: name, hint: masked }))
    return chosen(await listKeys(signal, (keys) => tell(chosen([...keys]))))
  },
  model: async (signal, tell) => {
    const [aliases, used] = await Promise.all([listAliases(signal), usedBy('model')(signal, tell)])
    return [...aliases.map(({ name }) => ({ value: name, label: name, hint: 'alias' })), ...used]
  },
  provider: usedBy('provider'),
  cluster_id: async (signal) =>
    (await listClusters(signal)).map(({ id, name, status }) => ({ value: id, label: name, hint: status })),
  alias_release_id: async (signal) =>
    (await listAliases(signal)).map(({ name, current_release_id }) => ({
      value: current_release_id,
      label: `${name}, current release`,
    })),
}
