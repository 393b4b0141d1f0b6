// Several rows of numbers over time, as stacked bars or as lines. Pointing at a place, or going there with the arrow
// keys, tells its numbers; Enter or a click opens it, and a stretch that is dragged over, or selected with Shift, is
// zoomed into. The same numbers stand in a table for who cannot see them.
import { useId, useMemo, useState } from 'react'
import { useNow } from '../state/browser-clock.ts'
import { ChartPlot } from './chart-plot.tsx'
import { type ChartMarker, placeMs, type Series, type SeriesChartProps, type SeriesColor, shown } from './chart-rows.ts'
import { highestOf, roundTop, stacked, type Values } from './chart-scale.ts'
import { stepLabel } from './periods.ts'
import { placedTicks } from './time-ticks.ts'
import { ZONE } from './times.ts'

export type { ChartMarker, Series, SeriesColor }

export function SeriesChart(props: SeriesChartProps) {
  const { title, kind, starts, series, before } = props
  const id = useId()
  const now = useNow()
  const highest = useMemo(() => {
    const rows = series.map(({ values }) => values)
    return highestOf([...(kind === 'bars' ? [stacked(rows)] : rows), before ?? []])
  }, [series, kind, before])
  const top = roundTop(highest)
  const growing = starts.findIndex((start) => start + placeMs(props) > now)
  return (
    <figure className="series-chart" aria-labelledby={id}>
      <figcaption id={id} className={props.title_hidden ? 'visually-hidden' : undefined}>
        {title}
      </figcaption>
      <Legend {...props} />
      <div className="plot-frame">
        <ChartPlot {...props} top={top} open_at={growing < 0 ? starts.length : growing} />
        <div className="plot-axis" aria-hidden="true">
          {/* Where there is nothing, there is no scale either. */}
          <span>{highest > 0 && props.format(top)}</span>
          <span>{highest > 0 && props.format(top / 2)}</span>
          <span>{props.format(0)}</span>
        </div>
        <TimeAxis starts={starts} />
        <span className="plot-zone" aria-hidden="true">
          {ZONE}
        </span>
      </div>
      <Numbers {...props} />
    </figure>
  )
}

function TimeAxis({ starts }: Pick<SeriesChartProps, 'starts'>) {
  const ticks = useMemo(() => placedTicks(starts), [starts])
  return (
    <div className="plot-ticks" aria-hidden="true">
      {ticks.map(({ at, label, across, side }, n) => (
        <span
          key={at}
          data-side={side}
          data-second={n % 2 === 1 || undefined}
          style={side === 'end' ? undefined : { left: `${across * 100}%` }}
        >
          {label}
        </span>
      ))}
    </div>
  )
}

const sum = (values: Values) => values.reduce<number>((total, value) => total + (value ?? 0), 0)
/** Names the rows, with what is said of each as a whole. */
const Legend = ({ series, format, before }: SeriesChartProps) => (
  <ul className="series-legend">
    {series.map(({ id, label, color, values, overall }) => (
      <li key={id}>
        <span className="series-legend-mark" data-color={color} />
        <span className="series-legend-label">{label}</span>
        <span className="series-legend-value">{overall ?? format(sum(values))}</span>
      </li>
    ))}
    {before && (
      <li>
        <span className="series-legend-mark series-legend-line" />
        <span className="series-legend-label">before</span>
        <span className="series-legend-value">{format(sum(before))}</span>
      </li>
    )}
  </ul>
)

/** Drawn when it is opened: a week of hours is long. */
function Numbers({ title, starts, step, series, format, before }: SeriesChartProps) {
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
                <th scope="col">Time ({ZONE})</th>
                {rows.map(({ id, label }) => (
                  <th key={id} scope="col" data-align="right">
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {starts.map((start, at) => (
                <tr key={start}>
                  <th scope="row">{stepLabel(start, step)}</th>
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
