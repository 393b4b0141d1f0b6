// Figures of a project as whoever runs the service reads them.
import type { OperatorProject } from '../../api/operator-calls.ts'

/** The first millisecond of the month that a time lies in, in UTC as usage is added up. */
export function monthStart(time_ms: number): string {
  const at = new Date(time_ms)
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1)).toISOString()
}

type Capped = Pick<OperatorProject, 'cap_micros' | 'operator_cap_micros' | 'overage_enabled'>

/** R79: the cap that binds. With overage the project's own refuses nothing. */
export function capOf({ cap_micros, operator_cap_micros, overage_enabled }: Capped): {
  micros: number | undefined
  whose: 'yours' | 'its own'
} {
  const own = overage_enabled ? undefined : cap_micros
  if (own === undefined) return { micros: operator_cap_micros, whose: 'yours' }
  if (operator_cap_micros !== undefined && operator_cap_micros <= own)
    return { micros: operator_cap_micros, whose: 'yours' }
  return { micros: own, whose: 'its own' }
}
