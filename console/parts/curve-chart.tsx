// Several curves over one axis, with points that matter marked: a small SVG of our own, words outside the drawing so
// that it may be stretched, and the same numbers as a table for who cannot see them.
import { type PointerEvent, type ReactNode, useId, useState } from 'react'
import { HEIGHT, linePath, type Scale, scaleOf, WIDTH } from './chart-scale.ts'

export interface Axis {
  label: string
  format(value: number): string
  /** Beside the axis, where less is more. */
  mark?(value: number): string
  /** Logarithmic, with marks at powers of it. */
  base?: number
}

export interface Curve {
  name: string
  /** One for each place of `at`; null where there is none. */
  values: readonly (number | null)[]
  /** The curve that the others are compared with. */
  reference?: true
}

export interface Mark {
  x: number
  y: number
  /** Which curve it is on, by its name. */
  curve: string
}

interface CurveChartProps {
  title: string
  at: readonly number[]
  x: Axis
  y: Axis
  curves: readonly Curve[]
  marks?: readonly Mark[]
  /** A place of the x axis that people ask about. */
  line?: { x: number; label: string } | undefined
  /** More about a curve than its name, in the legend. */
  about?(name: string): ReactNode
}

const COLOURS = 6
const percent = (place: number) => `${Math.min(100, Math.max(0, place * 100))}%`

/** Curves that are compared have colours; beyond six they are told apart by dashes. */
export const curveLook = (curves: readonly Curve[], name: string) => {
  const at = curves.filter((one) => !one.reference).findIndex((one) => one.name === name)
  return at < 0 ? 'curve-reference' : `curve-${at % COLOURS}${at >= COLOURS ? ' curve-dashed' : ''}`
}

export function CurveChart(props: CurveChartProps) {
  const { title, at, x, y, curves, marks = [], line, about } = props
  const id = useId()
  const [seen, setSeen] = useState<number>()
  const across = scaleOf({ values: line ? [...at, line.x] : at, base: x.base })
  const up = scaleOf({ values: curves.flatMap(({ values }) => values.filter((one) => one !== null)), base: y.base })
  const look = (event: PointerEvent<HTMLDivElement>) => setSeen(nearest(event, at, across))
  return (
    <figure className="chart curves" aria-labelledby={id}>
      <figcaption id={id}>
        {title}
        <span className="muted">, {y.label}</span>
      </figcaption>
      <div className="curves-drawing" aria-hidden="true">
        <Ticks scale={up} axis={y} side="up" />
        <div className="curves-field" onPointerMove={look} onPointerLeave={() => setSeen(undefined)}>
          <Lines at={at} across={across} up={up} curves={curves} />
          {line && <span className="curves-asked" style={{ left: percent(across.place(line.x)) }} title={line.label} />}
          {seen !== undefined && (
            <span className="curves-seen" style={{ left: percent(across.place(at[seen] ?? 0)) }} />
          )}
          {marks.map((mark) => (
            <span
              key={mark.curve}
              className={`curves-mark ${curveLook(curves, mark.curve)}`}
              style={{ left: percent(across.place(mark.x)), bottom: percent(up.place(mark.y)) }}
            />
          ))}
        </div>
        <Ticks scale={across} axis={x} side="across" />
      </div>
      <ul className="legend legend-list">
        {curves.map(({ name, values }) => (
          <li key={name}>
            <i className={`swatch ${curveLook(curves, name)}`} aria-hidden="true" />
            <strong>{name}</strong> <span className="muted">{about?.(name)}</span>
            {seen !== undefined && <span className="curves-value">{told(values[seen], y)}</span>}
          </li>
        ))}
        {seen !== undefined && (
          <li className="muted">
            at {x.format(at[seen] ?? 0)} {x.label}
          </li>
        )}
      </ul>
      <CurveTable {...props} />
    </figure>
  )
}

const told = (value: number | null | undefined, { format }: Axis) => (value == null ? 'none' : format(value))

function nearest(event: PointerEvent<HTMLDivElement>, at: readonly number[], across: Scale): number {
  const { left, width } = event.currentTarget.getBoundingClientRect()
  const place = (event.clientX - left) / width
  const far = at.map((value) => Math.abs(across.place(value) - place))
  return far.indexOf(Math.min(...far))
}

interface LinesProps {
  at: readonly number[]
  across: Scale
  up: Scale
  curves: readonly Curve[]
}

const Lines = ({ at, across, up, curves }: LinesProps) => (
  <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" focusable="false" aria-hidden="true">
    {up.ticks.map((tick) => {
      const y = HEIGHT * (1 - up.place(tick))
      return <line key={tick} className="chart-grid" x1="0" x2={WIDTH} y1={y} y2={y} />
    })}
    {curves.map(({ name, values }) => (
      <path
        key={name}
        className={`curve ${curveLook(curves, name)}`}
        d={linePath(
          values.map((value, index) => (value === null ? null : [across.place(at[index] ?? 0), up.place(value)])),
        )}
      />
    ))}
  </svg>
)

const Ticks = ({ scale, axis, side }: { scale: Scale; axis: Axis; side: 'up' | 'across' }) => (
  <div className={`ticks ticks-${side}`}>
    {scale.ticks.map((tick) => (
      <span
        className="tick"
        key={tick}
        style={side === 'up' ? { bottom: percent(scale.place(tick)) } : { left: percent(scale.place(tick)) }}
      >
        {(axis.mark ?? axis.format)(tick)}
      </span>
    ))}
    {side === 'across' && <span className="ticks-label">{axis.label}</span>}
  </div>
)

const CurveTable = ({ title, at, x, y, curves }: CurveChartProps) => (
  <details className="chart-table">
    <summary>As a table</summary>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
    <section className="scroll-x" tabIndex={0} aria-label={`${title}, as a table`}>
      <table className="table table-dense">
        <caption className="visually-hidden">{title}</caption>
        <thead>
          <tr>
            <th scope="col">{x.label}</th>
            {curves.map(({ name }) => (
              <th key={name} scope="col" data-align="right">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {at.map((place, index) => (
            <tr key={place}>
              <th scope="row">{x.format(place)}</th>
              {curves.map(({ name, values }) => (
                <td key={name} data-align="right">
                  {told(values[index], y)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  </details>
)
