// How long until something happens, kept current; the exact time is in its title. What has passed says so.
import { useNow } from '../state/browser-clock.ts'
import { ago } from './amounts.ts'
import { moment } from './times.ts'

const STEPS: readonly [unit_ms: number, unit: Intl.RelativeTimeFormatUnit][] = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
]
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always', style: 'long' })

/** From two of a unit on it is told in that unit: 47 hours say more than one day. */
export function until(time_ms: number, now_ms: number): string {
  const left = time_ms - now_ms
  if (left <= 0) return ago(time_ms, now_ms)
  const [unit_ms, unit] = STEPS.find(([one]) => left >= 2 * one) ?? [60_000, 'minute']
  return relative.format(Math.max(1, Math.floor(left / unit_ms)), unit)
}

export function TimeUntil({ at }: { at: string }) {
  const now = useNow()
  return (
    <time dateTime={at} title={moment(at)}>
      {until(Date.parse(at), now)}
    </time>
  )
}
