// Times, sizes and shares as engineers read them: three digits that matter, and the unit beside them.
const digits = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 })
const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })
const percents = new Intl.NumberFormat('en-US', { style: 'percent', maximumFractionDigits: 0 })

const THREE_DIGITS = 100

const figure = (value: number) => (Math.abs(value) >= THREE_DIGITS ? whole.format(value) : digits.format(value))

/** Milliseconds up to ten seconds, so that two times next to each other can be compared. */
export function latency(ms: number): string {
  return Math.abs(ms) < 10_000 ? `${figure(ms)} ms` : `${figure(ms / 1_000)} s`
}

const SIZES = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'] as const

/** In powers of ten, as bandwidths are. */
export function size(bytes: number): string {
  const at = bytes < 1 ? 0 : Math.min(SIZES.length - 1, Math.floor(Math.log10(bytes) / 3))
  return `${figure(bytes / 1_000 ** at)} ${SIZES[at]}`
}

export const wholePercent = (share: number) => percents.format(share)

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

/** How long something lasted: hours and minutes, or seconds below a minute. */
export function lasting(ms: number): string {
  if (ms < MINUTE_MS) return `${Math.max(1, Math.round(ms / 1_000))} s`
  const hours = Math.floor(ms / HOUR_MS)
  const minutes = Math.floor((ms % HOUR_MS) / MINUTE_MS)
  return [hours > 0 && `${hours} h`, (minutes > 0 || hours === 0) && `${minutes} min`].filter(Boolean).join(' ')
}
