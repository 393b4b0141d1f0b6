// A chart's drawing with somebody in it: what is told at the place that is pointed at, by words and beside the pointer.
import type { CSSProperties } from 'react'
import { ChartDrawing } from './chart-drawing.tsx'
import { type ChartMarker, placeMs, type SeriesChartProps, shown } from './chart-rows.ts'
import { zonedStepLabel } from './periods.ts'
import { type Selection, usePlotCursor } from './plot-cursor.ts'

interface ChartPlotProps extends SeriesChartProps {
  /** What the axis ends at. */
  top: number
  /** The first place that is still growing. */
  open_at: number
}

export function ChartPlot(props: ChartPlotProps) {
  const { at, selected, last, handlers } = usePlotCursor(props)
  const told = placeInWords(props, at ?? last)
  return (
    <div
      className="plot"
      role="slider"
      tabIndex={0}
      aria-label={`${props.title}. ${keysOf(props)}`}
      aria-valuemin={0}
      aria-valuemax={Math.max(0, last)}
      aria-valuenow={at ?? Math.max(0, last)}
      aria-valuetext={selected ? `${told}. ${countOf(selected)} selected` : told}
      data-opens={props.onPick !== undefined || undefined}
      {...handlers}
    >
      <ChartDrawing {...props} cursor={at} selected={selected} />
      {at !== undefined && <Tip {...props} at={at} selected={selected} />}
    </div>
  )
}

const countOf = ({ anchor, to }: Selection) => Math.abs(anchor - to) + 1

const keysOf = ({ onPick, onZoom }: ChartPlotProps) =>
  [
    'Arrow keys move',
    ...(onPick ? ['Enter opens'] : []),
    ...(onZoom ? ['Shift and arrow keys select, Enter zooms'] : []),
  ]
    .join(', ')
    .concat('.')

export const markersIn = ({ markers = [], starts, ...time }: ChartPlotProps, place: number): readonly ChartMarker[] => {
  const start = starts[place] ?? 0
  return markers.filter(({ at_ms }) => at_ms >= start && at_ms < start + placeMs(time))
}

function placeInWords(props: ChartPlotProps, place: number): string {
  const { starts, step, series, format, open_at } = props
  const values = series.map(({ label, values }) => `${label} ${shown(values[place], format)}`)
  const marked = markersIn(props, place).map(({ label }) => label)
  const time = `${zonedStepLabel(starts[place] ?? 0, step)}${place >= open_at ? ', so far' : ''}`
  return `${time}: ${[...values, ...marked].join(', ')}`
}

const HALF = 0.5

/** The numbers of a place, beside the pointer. Who cannot see it hears the same from the slider. */
function Tip(props: ChartPlotProps & { at: number; selected: Selection | undefined }) {
  const { at, selected, starts, step, series, kind, format, before, open_at, onPick, onZoom } = props
  const across = (at + HALF) / starts.length
  const total = series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0)
  const zooms = selected && selected.to !== selected.anchor
  return (
    <div
      className="plot-tip"
      data-side={across > HALF ? 'left' : 'right'}
      style={{ '--at': `${(across > HALF ? 1 - across : across) * 100}%` } as CSSProperties}
      aria-hidden="true"
    >
      <p className="plot-tip-at">
        {zonedStepLabel(starts[at] ?? 0, step)}
        {at >= open_at && <span className="muted">so far</span>}
      </p>
      <dl>
        {series.map(({ id, label, color, values }) => (
          <div key={id}>
            <dt>
              <span className="series-legend-mark" data-color={color} /> {label}
            </dt>
            <dd>{shown(values[at], format)}</dd>
          </div>
        ))}
        {kind === 'bars' && series.length > 1 && <TipRow label="all" value={format(total)} />}
        {before && <TipRow label="before" value={shown(before[at], format)} />}
      </dl>
      {markersIn(props, at).map(({ label, at_ms }) => (
        <p key={`${at_ms} ${label}`} className="plot-tip-marker">
          {label}
        </p>
      ))}
      {zooms && <p className="muted">Let go to zoom in</p>}
      {!zooms && (onPick || onZoom) && (
        <p className="muted">{[onPick && 'Click opens', onZoom && 'drag zooms'].filter(Boolean).join(', ')}</p>
      )}
    </div>
  )
}

const TipRow = ({ label, value }: { label: string; value: string }) => (
  <div>
    <dt>{label}</dt>
    <dd>{value}</dd>
  </div>
)
