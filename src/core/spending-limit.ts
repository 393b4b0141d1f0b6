// R6: what a spending limit may be, for a key (§4.4) and for a whole project alike.
import { type Static, Type } from 'typebox'
import { USD_MAX, usdToMicros, WHOLE_USD_ABOVE } from './money.ts'
import { Refusal } from './refusal.ts'
import { orNull } from './shapes.ts'

export const SpendingLimit = Type.Object(
  {
    limit_usd: Type.Optional(
      orNull(
        Type.Number({
          minimum: 0,
          maximum: USD_MAX,
          description: `USD, at most six decimals, above ${WHOLE_USD_ABOVE} none; null clears it.`,
        }),
      ),
    ),
  },
  { title: 'SpendingLimit' },
)
export type SpendingLimit = Static<typeof SpendingLimit>

const USD_WORDS = `between 0 and ${USD_MAX} with at most six decimals, above ${WHOLE_USD_ABOVE} with none`

/** The micros to keep, null to clear the limit, undefined to leave it as it is. */
export function limitMicros({ limit_usd }: SpendingLimit): number | null | undefined {
  if (limit_usd === undefined || limit_usd === null) return limit_usd
  return usdMicros('limit_usd', limit_usd)
}

export function usdMicros(field: string, usd: number): number {
  const micros = usdToMicros(usd)
  if (micros === undefined) throw new Refusal('invalid_request', `'${field}' must be ${USD_WORDS}.`)
  return micros
}
