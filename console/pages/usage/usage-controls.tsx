// Which time is looked at, by what it is added up, and whether it is compared with the time before.
import { useId } from 'react'
import { PERIOD_IDS, PERIODS, spanChosen } from '../../parts/periods.ts'
import { Segments } from '../../parts/segments.tsx'
import type { AddressQuery } from '../../state/address-query.ts'
import { nowMs } from '../../state/browser-clock.ts'
import { DIMENSIONS, GROUPINGS, type UsageFrame } from './usage-view.ts'

const OFFERED = [
  ...PERIOD_IDS.map((id) => ({ id, label: PERIODS[id].label })),
  { id: 'custom' as const, label: 'Days' },
]
const WEEK_MS = 7 * 86_400_000
const day = (time_ms: number) => new Date(time_ms).toISOString().slice(0, 10)

interface UsageControlsProps {
  frame: UsageFrame
  change: AddressQuery['change']
}

export function UsageControls({ frame, change }: UsageControlsProps) {
  const id = useId()
  function choose(range: UsageFrame['range']) {
    if (range !== 'custom') return change({ range, from: undefined, to: undefined, at: undefined })
    change({ range, from: day(nowMs() - WEEK_MS), to: day(nowMs()), at: undefined })
  }
  return (
    <div className="controls">
      <Segments label="Period" options={OFFERED} value={frame.range} onChange={choose} />
      <span className="control">
        <label htmlFor={`${id}-by`}>Group by</label>
        <select id={`${id}-by`} value={frame.by} onChange={(event) => change({ by: event.target.value })}>
          {GROUPINGS.map((by) => (
            <option key={by} value={by}>
              {DIMENSIONS[by]}
            </option>
          ))}
        </select>
        {frame.by === 'tag' && (
          <input
            aria-label="Name of the tag"
            type="text"
            spellCheck={false}
            autoComplete="off"
            defaultValue={frame.tag_name}
            onBlur={(event) => change({ tag_name: event.target.value.trim().toLowerCase() || undefined })}
            onKeyDown={(event) => event.key === 'Enter' && event.currentTarget.blur()}
          />
        )}
      </span>
      <label className="control">
        <input
          type="checkbox"
          checked={frame.compare}
          onChange={(event) => change({ compare: event.target.checked ? 'yes' : undefined })}
        />
        Compare with the period before
      </label>
      {frame.range === 'custom' && <Days frame={frame} change={change} />}
    </div>
  )
}

function Days({ frame: { from, to }, change }: UsageControlsProps) {
  const id = useId()
  const wrong = spanChosen(from, to, nowMs()) === undefined
  return (
    <span className="control">
      <label htmlFor={`${id}-from`}>From</label>
      <input
        id={`${id}-from`}
        type="date"
        value={from.slice(0, 'YYYY-MM-DD'.length)}
        onChange={(event) => change({ from: event.target.value, at: undefined })}
      />
      <label htmlFor={`${id}-to`}>to</label>
      <input
        id={`${id}-to`}
        type="date"
        value={to.slice(0, 'YYYY-MM-DD'.length)}
        aria-invalid={wrong || undefined}
        aria-describedby={wrong ? `${id}-wrong` : undefined}
        onChange={(event) => change({ to: event.target.value, at: undefined })}
      />
      {wrong && (
        <span className="field-error" id={`${id}-wrong`}>
          The last day must not be before the first, nor 1,000 days after it. Shown are the last 30 days.
        </span>
      )}
    </span>
  )
}
