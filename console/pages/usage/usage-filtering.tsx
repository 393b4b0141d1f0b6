// What usage is narrowed down to: what holds now, each with a way to drop it, and a way to add one.
import { type FormEvent, useCallback, useId, useState } from 'react'
import { between } from '../../api/timeline-calls.ts'
import { usageGroups } from '../../api/usage-calls.ts'
import { Button } from '../../parts/button.tsx'
import type { AddressQuery } from '../../state/address-query.ts'
import { nowMs } from '../../state/browser-clock.ts'
import { useResource } from '../../state/resource.ts'
import { DIMENSION_IDS, DIMENSIONS, type Dimension, GROUPINGS, nameOf, spanIn, type UsageFrame } from './usage-view.ts'

interface UsageFilteringProps {
  frame: UsageFrame
  names: ReadonlyMap<string, string>
  change: AddressQuery['change']
}

export function UsageFiltering({ frame, names, change }: UsageFilteringProps) {
  const given = DIMENSION_IDS.flatMap((id) =>
    frame.filters[id] === undefined ? [] : [[id, frame.filters[id]] as const],
  )
  return (
    <search className="filtering">
      <AddFilter frame={frame} change={change} />
      {given.length > 0 && (
        <ul className="filter-chips" aria-label="Only what matches">
          {given.map(([id, value]) => (
            <li key={id} className="filter-chip">
              <span className="muted">{DIMENSIONS[id]}</span> {id === 'key_id' ? (names.get(value) ?? value) : value}
              <button
                type="button"
                aria-label={`Drop the filter ${DIMENSIONS[id]} ${value}`}
                onClick={() => change({ [id]: undefined })}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
    </search>
  )
}

const PLACEHOLDERS: Partial<Record<Dimension, string>> = { key_id: 'A key id, key_…', tag: 'A tag, team=search' }

function AddFilter({ frame, change }: Omit<UsageFilteringProps, 'names'>) {
  const id = useId()
  const [dimension, setDimension] = useState<Dimension>('model')
  const [text, setText] = useState('')
  const [near, setNear] = useState(false)
  const known = useKnownValues(frame, near ? dimension : undefined)
  function add(event: FormEvent) {
    event.preventDefault()
    const value = text.trim()
    if (value === '') return
    change({ [dimension]: value })
    setText('')
  }
  return (
    <form className="filters" onSubmit={add}>
      <label className="visually-hidden" htmlFor={`${id}-dimension`}>
        Filter by
      </label>
      <select
        id={`${id}-dimension`}
        value={dimension}
        onChange={(event) => setDimension(event.target.value as Dimension)}
      >
        {DIMENSION_IDS.map((one) => (
          <option key={one} value={one}>
            {DIMENSIONS[one]}
          </option>
        ))}
      </select>
      <label className="visually-hidden" htmlFor={`${id}-value`}>
        {DIMENSIONS[dimension]} to show
      </label>
      <input
        id={`${id}-value`}
        type="text"
        list={`${id}-known`}
        autoComplete="off"
        spellCheck={false}
        placeholder={PLACEHOLDERS[dimension] ?? `A ${DIMENSIONS[dimension].toLowerCase()}`}
        value={text}
        onFocus={() => setNear(true)}
        onChange={(event) => setText(event.target.value)}
      />
      <datalist id={`${id}-known`}>
        {known.map((value) => (
          <option key={value} value={value} />
        ))}
      </datalist>
      <Button type="submit">Add filter</Button>
    </form>
  )
}

/** What there is to choose from, asked for once somebody is about to type. */
function useKnownValues(frame: UsageFrame, dimension: Dimension | undefined): string[] {
  const by = GROUPINGS.find((one) => one === dimension && one !== 'tag')
  const { state } = useResource(
    useCallback(
      async (signal: AbortSignal) => {
        if (by === undefined) return []
        const asked = { ...between(spanIn(frame, nowMs())), group_by: by, limit: '200' }
        return (await usageGroups(asked, signal)).map((group) => nameOf(group, by))
      },
      [by, frame],
    ),
  )
  return state.kind === 'ready' ? state.value.filter((value): value is string => value !== null) : []
}
