// Where values stand on an axis, from 0 to 1, and which of them get a mark.
export interface Scale {
  place(value: number): number
  ticks: number[]
}

interface ScaleOf {
  values: readonly number[]
  /** Marks stand at powers of it; without it the axis is linear. */
  base?: number | undefined
}

const LINEAR_STEPS = 4
const TICKS_MAX = 7

export function scaleOf({ values, base }: ScaleOf): Scale {
  const finite = values.filter((value) => Number.isFinite(value) && (base === undefined || value > 0))
  const [low, high] = [Math.min(...finite), Math.max(...finite)]
  if (finite.length === 0) return { place: () => 0, ticks: [] }
  return base === undefined ? linear(low, high) : logarithmic(low, high, base)
}

function linear(low: number, high: number): Scale {
  const span = high - low || 1
  return {
    place: (value) => (value - low) / span,
    ticks: roundTicks(low, high, span),
  }
}

const ROUND = [1, 2, 2.5, 5, 10]

/** At steps that people count in: 0.25, 0.5, 0.75, and not 0.24, 0.48. */
function roundTicks(low: number, high: number, span: number): number[] {
  const power = 10 ** Math.floor(Math.log10(span / LINEAR_STEPS))
  const step = power * (ROUND.find((one) => one * power >= span / LINEAR_STEPS) ?? 10)
  const first = Math.ceil(low / step)
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, at) => (first + at) * step)
}

function logarithmic(low: number, high: number, base: number): Scale {
  const span = Math.log(high / low) || 1
  const place = (value: number) => Math.log(value / low) / span
  const first = Math.ceil(Math.log(low) / Math.log(base) - 1e-9)
  const last = Math.floor(Math.log(high) / Math.log(base) + 1e-9)
  const step = Math.max(1, Math.ceil((last - first + 1) / TICKS_MAX))
  const powers: number[] = []
  for (let exponent = first; exponent <= last; exponent += step) powers.push(base ** exponent)
  // Within less than one power, its ends say more than nothing.
  return { place, ticks: powers.length >= 2 ? powers : [low, high] }
}
