// Money, counts and ages as people read them.
const MICROS = 1_000_000
const CENT = 0.01
const DIME = 0.1

const usd = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' })
const smallUsd = new Intl.NumberFormat('en-US', {
  style: 'currency',
  currency: 'USD',
  minimumFractionDigits: 2,
  maximumFractionDigits: 6,
})
const centsUsd = new Intl.NumberFormat('en-US', {
  style: 'currency',
  currency: 'USD',
  minimumFractionDigits: 2,
  maximumFractionDigits: 4,
})
const counts = new Intl.NumberFormat('en-US')
const short = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })

/** To the cent from ten cents on, to a hundredth of one from one on; below that, as many decimals as there are. */
export function money(micros: number): string {
  const dollars = micros / MICROS
  if (Math.abs(dollars) >= DIME || micros === 0) return usd.format(dollars)
  return (Math.abs(dollars) >= CENT ? centsUsd : smallUsd).format(dollars)
}

/** To the last millionth, where one request is accounted for. */
export const exactMoney = (micros: number) => smallUsd.format(micros / MICROS)

const LARGE_USD = 1_000
const LARGE_COUNT = 1_000_000
const largeUsd = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD', maximumFractionDigits: 0 })
const shortUsd = new Intl.NumberFormat('en-US', {
  style: 'currency',
  currency: 'USD',
  notation: 'compact',
  maximumFractionDigits: 1,
})

/** As a headline: nobody reads the cents of thousands, nor the dollars of millions. */
export function headlineMoney(micros: number): string {
  const dollars = micros / MICROS
  if (dollars < CENT) return money(micros)
  if (dollars < LARGE_USD) return usd.format(dollars)
  return dollars < LARGE_COUNT ? largeUsd.format(dollars) : shortUsd.format(dollars)
}

export const headlineCount = (number: number) => (number < LARGE_COUNT ? count(number) : shortCount(number))

export const count = (number: number) => counts.format(number)
export const shortCount = (number: number) => short.format(number)

const AGES: [limit_ms: number, unit_ms: number, unit: Intl.RelativeTimeFormatUnit][] = [
  [60_000, 1_000, 'second'],
  [3_600_000, 60_000, 'minute'],
  [86_400_000, 3_600_000, 'hour'],
  [30 * 86_400_000, 86_400_000, 'day'],
  [365 * 86_400_000, 30 * 86_400_000, 'month'],
  [Number.POSITIVE_INFINITY, 365 * 86_400_000, 'year'],
]
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always', style: 'long' })
const JUST_NOW_MS = 10_000

/** Clocks differ a little: what seems to lie ahead just happened. */
export function ago(time_ms: number, now_ms: number): string {
  const age = now_ms - time_ms
  if (age < JUST_NOW_MS) return 'just now'
  const [, unit_ms, unit] = AGES.find(([limit]) => age < limit) ?? [0, 1_000, 'second' as const]
  return relative.format(-Math.floor(age / unit_ms), unit)
}
