// How long another gateway's budget lasts, and the window of the calendar that stands for it (R65).
import type { Period } from '../budgets/budget-window.ts'

const SECONDS: Readonly<Record<string, number>> = {
  s: 1,
  m: 60,
  h: 3_600,
  d: 86_400,
  w: 7 * 86_400,
  mo: 30 * 86_400,
  M: 30 * 86_400,
  Y: 365 * 86_400,
}
const DAY_S = 86_400

export interface MappedDuration {
  /** Undefined: longer than a month, so that only a total can bound it. */
  period: Period | undefined
  is_exact: boolean
}

/** The shortest window that is no shorter: an amount for an hour, allowed once a day, is never too much. */
export function mappedDuration(text: string): MappedDuration | undefined {
  const [, count = '', unit = ''] = /^(\d{1,6})(s|mo|m|h|d|w|M|Y)$/.exec(text) ?? []
  const seconds = Number(count) * (SECONDS[unit] ?? 0)
  if (!(seconds > 0)) return undefined
  const days = seconds / DAY_S
  if (days <= 1) return { period: 'day', is_exact: days === 1 }
  if (days <= 7) return { period: 'week', is_exact: days === 7 }
  if (days <= 31) return { period: 'month', is_exact: days >= 28 }
  return { period: undefined, is_exact: false }
}
