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

const LINEAR_TICKS = 5
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
    ticks: Array.from({ length: LINEAR_TICKS }, (_, at) => low + (span * at) / (LINEAR_TICKS - 1)),
  }
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
