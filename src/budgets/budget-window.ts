// R65: a spending limit by the calendar, beside the total. Windows are those of UTC: a day from midnight, a week from
// Monday, a month from its first. The window in which a call is settled pays for it.
import { type Static, Type } from 'typebox'
import { DAY_MS } from '../core/clock.ts'
import { USD_MAX } from '../core/money.ts'
import { orNull, time } from '../core/shapes.ts'
import { SpendingLimit, usdMicros } from '../core/spending-limit.ts'

export const Period = Type.Enum(['day', 'week', 'month'])
export type Period = Static<typeof Period>

export const NewWindow = Type.Object({
  period: Period,
  limit_usd: Type.Number({ minimum: 0, maximum: USD_MAX, description: 'USD in each window, at most six decimals.' }),
})

export const KeySpendingLimit = Type.Object(
  {
    ...SpendingLimit.properties,
    window: Type.Optional(orNull(NewWindow)),
  },
  { title: 'KeySpendingLimit' },
)
export type KeySpendingLimit = Static<typeof KeySpendingLimit>

export const BudgetWindow = Type.Object(
  {
    period: Period,
    limit_micros: Type.Integer(),
    spent_micros: Type.Integer({ description: 'In the window that runs now.' }),
    resets_at: time(),
  },
  { title: 'BudgetWindow' },
)
export type BudgetWindow = Static<typeof BudgetWindow>

export interface WindowLimit {
  period: Period
  limit_micros: number
}

/** The limit to keep, null to clear it, undefined to leave it as it is. */
export function windowLimit({ window }: KeySpendingLimit): WindowLimit | null | undefined {
  if (window === undefined || window === null) return window
  return { period: window.period, limit_micros: usdMicros('window.limit_usd', window.limit_usd) }
}

const MONDAY = 4 // the days from the epoch, a Thursday, to the first Monday

export function windowStart(period: Period, now: number): number {
  const day = Math.floor(now / DAY_MS)
  if (period === 'day') return day * DAY_MS
  if (period === 'week') return (day - ((((day - MONDAY) % 7) + 7) % 7)) * DAY_MS
  return monthStart(now, 0)
}

/** The first millisecond that is no longer in the window. */
export function windowEnd(period: Period, now: number): number {
  if (period === 'month') return monthStart(now, 1)
  return windowStart(period, now) + (period === 'day' ? DAY_MS : 7 * DAY_MS)
}

function monthStart(now: number, later: number): number {
  const date = new Date(now)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later, 1)
}
