// What a chart over time is made of: its rows, when its places begin, and what happened meanwhile.
import type { Step } from '../api/timeline-calls.ts'
import type { Values } from './chart-scale.ts'
import { STEP_MS } from './periods.ts'

export type SeriesColor = 'one' | 'two' | 'three' | 'four' | 'five' | 'rest' | 'bad'

export interface Series {
  id: string
  label: string
  color: SeriesColor
  values: Values
  /** What is said of the whole row; without it, its sum. */
  overall?: string
}

/** Something that happened, which may be why the numbers changed. */
export interface ChartMarker {
  at_ms: number
  label: string
}

export interface SeriesChartProps {
  title: string
  /** Where the words around it say what it is. */
  title_hidden?: boolean
  kind: 'bars' | 'lines'
  /** When each place begins, and how long one is. */
  starts: readonly number[]
  step: Step
  /** Where a place is not as long as its step. */
  step_ms?: number | undefined
  series: readonly Series[]
  format(value: number): string
  /** The same in the period before, drawn as a thin line behind. */
  before?: Values | undefined
  markers?: readonly ChartMarker[] | undefined
  onPick?(at: number): void
  onZoom?(from_ms: number, to_ms: number): void
}

export const shown = (value: number | null | undefined, format: (value: number) => string) =>
  value === null || value === undefined ? '–' : format(value)

export const placeMs = ({ step, step_ms }: Pick<SeriesChartProps, 'step' | 'step_ms'>) => step_ms ?? STEP_MS[step]
