// Money is integer micro-USD (§2). Dollars enter through their decimal text, never through x * 1e6 (R6):
// 8.2 * 1e6 is 8199999.999999999.
export const MICROS_PER_USD = 1_000_000
export const USD_MAX = 9_007_199_254 // above it, micros are no longer exact integers
export const WHOLE_USD_ABOVE = 2 ** 33 // above it, two amounts with six decimals may be one and the same number (R6)

const DECIMAL_PLACES = 6

/** The exact micros of a dollar amount, or undefined where it has none: negative, too fine, too large. */
export function usdToMicros(usd: number): number | undefined {
  if (!(usd >= 0 && usd <= USD_MAX)) return undefined
  if (usd > WHOLE_USD_ABOVE && !Number.isInteger(usd)) return undefined
  const [mantissa = '', exponent = '0'] = String(usd).split('e') // the shortest text that names this number
  const [whole = '', fraction = ''] = mantissa.split('.')
  const shift = DECIMAL_PLACES + Number(exponent) - fraction.length
  const digits = BigInt(whole + fraction)
  if (shift >= 0) return Number(digits * 10n ** BigInt(shift))
  const divisor = 10n ** BigInt(-shift)
  return digits % divisor === 0n ? Number(digits / divisor) : undefined
}

const CENT_MICROS = MICROS_PER_USD / 100

/** For sentences: dollars and cents; what is less than a cent is not told as nothing. */
export function dollars(micros: number): string {
  if (micros <= 0 || micros >= CENT_MICROS) return (micros / MICROS_PER_USD).toFixed(2)
  return (micros / MICROS_PER_USD).toFixed(6).replace(/0+$/, '')
}
