// Numbers over time, as bars or as a line: small SVGs of our own, and the same numbers as a table for who cannot see
// them. Words stand outside the drawing, so that it may be stretched.
import { type ReactNode, useId } from 'react'

export interface Point {
  label: string
  value: number
}

interface ChartProps {
  title: string
  points: readonly Point[]
  format(value: number): string
}

const WIDTH = 600
const HEIGHT = 120
const GAP = 0.25 // of a bar's place

export function BarChart(props: ChartProps) {
  const { points, format } = props
  const top = highest(points)
  const place = WIDTH / Math.max(1, points.length)
  return (
    <Chart {...props}>
      {points.map(({ label, value }, at) => {
        const height = Math.max(value > 0 ? 2 : 0, (HEIGHT * value) / top)
        return (
          <rect
            key={label}
            className="chart-bar"
            x={at * place + (place * GAP) / 2}
            y={HEIGHT - height}
            width={place * (1 - GAP)}
            height={height}
          >
            <title>{`${label}: ${format(value)}`}</title>
          </rect>
        )
      })}
    </Chart>
  )
}

export function LineChart(props: ChartProps) {
  const { points } = props
  const top = highest(points)
  const step = WIDTH / Math.max(1, points.length - 1)
  const line = points.map(({ value }, at) => `${at * step},${HEIGHT - (HEIGHT * value) / top}`).join(' ')
  return (
    <Chart {...props}>
      <polygon className="chart-area" points={`0,${HEIGHT} ${line} ${WIDTH},${HEIGHT}`} />
      <polyline className="chart-line" points={line} />
    </Chart>
  )
}

const highest = (points: readonly Point[]) => Math.max(...points.map(({ value }) => value), 0) || 1

function Chart({ title, points, format, children }: ChartProps & { children: ReactNode }) {
  const id = useId()
  const total = points.reduce((sum, { value }) => sum + value, 0)
  const top = Math.max(...points.map(({ value }) => value), 0)
  return (
    <figure className="chart" aria-labelledby={id}>
      <figcaption id={id}>
        {title} <span className="muted">{format(total)} in all</span>
      </figcaption>
      <div className="chart-drawing" aria-hidden="true">
        <span className="chart-top">{format(top)}</span>
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" focusable="false" aria-hidden="true">
          <line className="chart-grid" x1="0" x2={WIDTH} y1="0.5" y2="0.5" />
          <line className="chart-grid" x1="0" x2={WIDTH} y1={HEIGHT / 2} y2={HEIGHT / 2} />
          <line className="chart-grid" x1="0" x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} />
          {children}
        </svg>
        <div className="chart-ends">
          <span>{points[0]?.label}</span>
          <span>{points.at(-1)?.label}</span>
        </div>
      </div>
      <details className="chart-table">
        <summary>As a table</summary>
        <table className="table table-dense">
          <caption className="visually-hidden">{title}</caption>
          <tbody>
            {points.map(({ label, value }) => (
              <tr key={label}>
                <th scope="row">{label}</th>
                <td data-align="right">{format(value)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  )
}
