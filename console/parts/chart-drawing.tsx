// The drawing of a chart: grid, bars or lines, what is still growing, the line at the pointer, and what happened when.

import { placeMs, type SeriesChartProps } from './chart-rows.ts'
import { barsPath, dotPath, HEIGHT, linePath, lonePath, splitAt, spotsOf, stacked, WIDTH } from './chart-scale.ts'

interface DrawingProps
  extends Pick<SeriesChartProps, 'kind' | 'series' | 'before' | 'starts' | 'step' | 'step_ms' | 'markers'> {
  top: number
  open_at: number
  cursor: number | undefined
  selected: { anchor: number; to: number } | undefined
}

export function ChartDrawing(props: DrawingProps) {
  const { kind, before, top, cursor, selected, starts } = props
  const place = WIDTH / Math.max(1, starts.length)
  const middle = (at: number) => (at + 0.5) * place
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" focusable="false" aria-hidden="true">
      {selected && (
        <rect
          className="plot-selection"
          x={Math.min(selected.anchor, selected.to) * place}
          y="0"
          width={(Math.abs(selected.anchor - selected.to) + 1) * place}
          height={HEIGHT}
        />
      )}
      {[0.5, HEIGHT / 2, HEIGHT - 0.5].map((y) => (
        <line key={y} className="chart-grid" x1="0" x2={WIDTH} y1={y} y2={y} />
      ))}
      {kind === 'bars' ? <Bars {...props} /> : <Lines {...props} />}
      {before && <path className="plot-before" d={linePath(spotsOf(before, top))} />}
      <Markers {...props} />
      {cursor !== undefined && (
        <line className="plot-cursor" x1={middle(cursor)} x2={middle(cursor)} y1="0" y2={HEIGHT} />
      )}
      {cursor !== undefined && kind === 'lines' && <CursorDots {...props} cursor={cursor} />}
    </svg>
  )
}

const Bars = ({ series, top, open_at }: DrawingProps) =>
  series.map(({ id, color, values }, row) => {
    const below = stacked(series.slice(0, row).map((one) => one.values))
    const { whole, open } = splitAt(values, open_at, 'bars')
    return (
      <g key={id} className="plot-bars" data-color={color}>
        <path d={barsPath(whole, below, top)} />
        <path className="plot-open" d={barsPath(open, below, top)} />
      </g>
    )
  })

const Lines = ({ series, top, open_at }: DrawingProps) =>
  series.map(({ id, color, values }) => {
    const spots = spotsOf(values, top)
    const { whole, open } = splitAt(spots, open_at, 'lines')
    return (
      <g key={id} className="plot-line" data-color={color}>
        <path d={linePath(whole)} />
        <path className="plot-open" d={linePath(open)} />
        <path className="plot-dots" d={lonePath(spots)} />
      </g>
    )
  })

const CursorDots = ({ series, top, cursor }: DrawingProps & { cursor: number }) =>
  series.map(({ id, color, values }) => {
    const spot = spotsOf(values, top)[cursor]
    return spot && <path key={id} className="plot-dots" data-color={color} d={dotPath(spot)} />
  })

/** Each where its time lies, not where its place begins. */
function Markers({ markers = [], starts, ...time }: DrawingProps) {
  const [first = 0] = starts
  const length = starts.length * placeMs(time)
  return markers
    .filter(({ at_ms }) => at_ms >= first && at_ms < first + length)
    .map(({ at_ms, label }) => {
      const x = (WIDTH * (at_ms - first)) / length
      return <line key={`${at_ms} ${label}`} className="plot-marker" x1={x} x2={x} y1="0" y2={HEIGHT} />
    })
}
