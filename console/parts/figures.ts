// Durations, shares and changes as people read them.
const percents = new Intl.NumberFormat('en-US', { style: 'percent', maximumFractionDigits: 1 })
const changes = new Intl.NumberFormat('en-US', {
  style: 'percent',
  maximumFractionDigits: 0,
  signDisplay: 'exceptZero',
})
const seconds = new Intl.NumberFormat('en-US', { maximumFractionDigits: 2 })
const MANY = 10 // times as much is said as a factor

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 59_995) return `${seconds.format(ms / 1_000)} s`
  const whole_s = Math.round(ms / 1_000) // rounded before it is cut in two, lest there are 60 s beside the minutes
  const [minutes, rest_s] = [Math.floor(whole_s / 60), whole_s % 60]
  return rest_s === 0 ? `${minutes} min` : `${minutes} min ${rest_s} s`
}

/** A dash where there is nothing that it could be a part of. */
export function percent(part: number, whole: number): string {
  if (whole <= 0) return '–'
  const share = part / whole
  return part > 0 && share < 0.001 ? '< 0.1%' : percents.format(share)
}

/** Undefined where there was nothing before to compare with. */
export function change(now: number, before: number): string | undefined {
  if (before <= 0) return undefined
  const ratio = now / before
  return ratio >= MANY ? `×${Math.round(ratio)}` : changes.format(ratio - 1)
}
