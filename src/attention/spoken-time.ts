// How long something is or was, in words.
import { HOUR_MS } from '../core/clock.ts'

export const ago = (ms: number) => `${span(ms)} ago`

export function span(ms: number): string {
  const units: [number, string][] = [
    [24 * HOUR_MS, 'days'],
    [HOUR_MS, 'hours'],
    [HOUR_MS / 60, 'minutes'],
  ]
  const [unit_ms, unit] = units.find(([size]) => ms >= 2 * size) ?? [1_000, 'seconds']
  return `${Math.floor(ms / unit_ms)} ${unit}`
}
