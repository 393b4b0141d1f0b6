// Several rows of numbers over time, as stacked bars or as lines. Pointing at a place, or going there with the arrow
// keys, tells its numbers; Enter or a click opens it. The same numbers stand in a table for who cannot see them.
import { type KeyboardEvent, type MouseEvent, useId, useState } from 'react'
import { barsPath, HEIGHT, highestOf, linePath, roundTop, spotsOf, stacked, type Values, WIDTH } from './chart-scale.ts'

export type SeriesColor = 'one' | 'two' | 'three' | 'four' | 'five' | 'rest' | 'bad'

export interface Series {
  id: string
  label: string
  color: SeriesColor
  values: Values
  /** What is said of the whole row; without it, its sum. */
  overall?: string
}

export interface SeriesChartProps {
  title: string
  /** Where the words around it say what it is. */
  title_hidden?: boolean
  kind: 'bars' | 'lines'
  /** What each place is called. */
  places: readonly string[]
  series: readonly Series[]
  format(value: number): string
  /** The same in the period before, drawn as a thin line behind. */
  before?: Values | undefined
  onPick?(at: number): void
}

export function SeriesChart(props: SeriesChartProps) {
  const { title, kind, places, series, format, before, onPick } = props
  const [cursor, setCursor] = useState<number>()
  const id = useId()
  const at = cursor === undefined || cursor >= places.length ? undefined : cursor
  const rows = series.map(({ values }) => values)
  const highest = highestOf([...(kind === 'bars' ? [stacked(rows)] : rows), before ?? []])
  const top = roundTop(highest)
  return (
    <figure className="series-chart" aria-labelledby={id}>
      <figcaption id={id} className={props.title_hidden ? 'visually-hidden' : undefined}>
        {title}
      </figcaption>
      <Legend {...props} at={at} />
      <div className="plot-frame">
        <Plot
          label={title}
          kind={kind}
          places={places}
          series={series}
          before={before}
          format={format}
          at={at}
          top={top}
          onCursor={setCursor}
          onPick={onPick}
        />
        <div className="plot-axis" aria-hidden="true">
          {/* Where there is nothing, there is no scale either. */}
          <span>{highest > 0 && format(top)}</span>
          <span>{highest > 0 && format(top / 2)}</span>
          <span>{format(0)}</span>
        </div>
        <div className="chart-ends" aria-hidden="true">
          <span>{places[0]}</span>
          <span>{places.at(-1)}</span>
        </div>
      </div>
      <Numbers {...props} />
    </figure>
  )
}

const sum = (values: Values) => values.reduce<number>((total, value) => total + (value ?? 0), 0)
const shown = (value: number | null | undefined, format: (value: number) => string) =>
  value === null || value === undefined ? '–' : format(value)

/** Names the rows, with their numbers at the place that is pointed at, or overall. */
function Legend({ series, places, format, before, at }: SeriesChartProps & { at: number | undefined }) {
  return (
    <ul className="series-legend" data-at={at !== undefined || undefined}>
      {series.map(({ id, label, color, values, overall }) => (
        <li key={id}>
          <span className="series-legend-mark" data-color={color} />
          <span className="series-legend-label">{label}</span>
          <span className="series-legend-value">
            {at === undefined ? (overall ?? format(sum(values))) : shown(values[at], format)}
          </span>
        </li>
      ))}
      {before && (
        <li>
          <span className="series-legend-mark series-legend-line" />
          <span className="series-legend-label">before</span>
          <span className="series-legend-value">
            {at === undefined ? format(sum(before)) : shown(before[at], format)}
          </span>
        </li>
      )}
      <li className="series-legend-at">{at === undefined ? '' : places[at]}</li>
    </ul>
  )
}

type PlotProps = Omit<SeriesChartProps, 'title' | 'onPick'> & {
  label: string
  at: number | undefined
  top: number
  onCursor(at: number | undefined): void
  onPick: SeriesChartProps['onPick']
}

function Plot({ label, kind, places, series, before, format, at, top, onCursor, onPick }: PlotProps) {
  const last = places.length - 1
  const told = (place: number) =>
    `${places[place]}: ${series.map((one) => `${one.label} ${shown(one.values[place], format)}`).join(', ')}`

  function placeOf(event: MouseEvent<HTMLElement>): number {
    const { left, width } = event.currentTarget.getBoundingClientRect()
    return Math.min(last, Math.max(0, Math.floor(((event.clientX - left) / width) * places.length)))
  }
  /** A finger cannot hover: its first touch tells the numbers, the second opens. */
  function onClick(event: MouseEvent<HTMLElement>) {
    const place = placeOf(event)
    const touched = event.nativeEvent instanceof PointerEvent && event.nativeEvent.pointerType === 'touch'
    if (touched && place !== at) onCursor(place)
    else onPick?.(place)
  }
  function onKey(event: KeyboardEvent) {
    const from = at ?? last
    const next = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: last }[event.key]
    if (event.key === 'Enter' && at !== undefined) onPick?.(at)
    if (next === undefined) return
    event.preventDefault()
    onCursor(Math.min(last, Math.max(0, next)))
  }
  return (
    <div
      className="plot"
      role="slider"
      tabIndex={0}
      aria-label={onPick ? `${label}. Arrow keys move, Enter opens.` : `${label}. Arrow keys move.`}
      aria-valuemin={0}
      aria-valuemax={Math.max(0, last)}
      aria-valuenow={at ?? Math.max(0, last)}
      aria-valuetext={told(at ?? last)}
      data-opens={onPick !== undefined || undefined}
      onKeyDown={onKey}
      onFocus={() => onCursor(at ?? last)}
      onBlur={() => onCursor(undefined)}
      onPointerMove={(event) => event.pointerType !== 'touch' && onCursor(placeOf(event))}
      onPointerLeave={(event) => event.pointerType !== 'touch' && onCursor(undefined)}
      onClick={onClick}
    >
      <Drawing kind={kind} series={series} before={before} top={top} cursor={at} places={places.length} />
    </div>
  )
}

interface DrawingProps extends Pick<SeriesChartProps, 'kind' | 'series' | 'before'> {
  top: number
  cursor: number | undefined
  places: number
}

function Drawing({ kind, series, before, top, cursor, places }: DrawingProps) {
  const place = WIDTH / Math.max(1, places)
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" focusable="false" aria-hidden="true">
      {cursor !== undefined && <rect className="plot-cursor" x={cursor * place} y="0" width={place} height={HEIGHT} />}
      {[0.5, HEIGHT / 2, HEIGHT - 0.5].map((y) => (
        <line key={y} className="chart-grid" x1="0" x2={WIDTH} y1={y} y2={y} />
      ))}
      {series.map(({ id, color, values }, row) =>
        kind === 'bars' ? (
          <path
            key={id}
            className="plot-bars"
            data-color={color}
            d={barsPath(values, stacked(series.slice(0, row).map((below) => below.values)), top)}
          />
        ) : (
          <path key={id} className="plot-line" data-color={color} d={linePath(spotsOf(values, top))} />
        ),
      )}
      {before && <path className="plot-before" d={linePath(spotsOf(before, top))} />}
    </svg>
  )
}

/** Drawn when it is opened: a week of hours is long. */
function Numbers({ title, places, series, format, before }: SeriesChartProps) {
  const [open, setOpen] = useState(false)
  const rows = before ? [...series, { id: 'before', label: 'Before', values: before }] : series
  return (
    <details className="chart-table" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>As a table</summary>
      {open && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        <section className="chart-table-scroll" tabIndex={0} aria-label={`${title}, as a table`}>
          <table className="table table-dense">
            <caption className="visually-hidden">{title}</caption>
            <thead>
              <tr>
                <th scope="col">Time</th>
                {rows.map(({ id, label }) => (
                  <th key={id} scope="col" data-align="right">
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {[...places.entries()].map(([at, place]) => (
                <tr key={at}>
                  <th scope="row">{place}</th>
                  {rows.map(({ id, values }) => (
                    <td key={id} data-align="right">
                      {shown(values[at], format)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </details>
  )
}
