// Periods as the service cuts time, and the same length of time before.
import { expect, test } from 'vitest'
import { PERIOD_IDS, PERIODS, STEP_MS, spanBefore, spanChosen, spanOf, spanOfStep } from './periods.ts'

const NOW = Date.parse('2026-11-15T14:25:10.500Z')
const iso = ({ from_ms, to_ms }: { from_ms: number; to_ms: number }) =>
  [from_ms, to_ms].map((ms) => new Date(ms).toISOString())

test.each([
  ['1h', '2026-11-15T13:26:00.000Z'],
  ['24h', '2026-11-14T15:00:00.000Z'],
  ['7d', '2026-11-08T15:00:00.000Z'],
  ['30d', '2026-10-17T00:00:00.000Z'],
  ['90d', '2026-08-18T00:00:00.000Z'],
] as const)('§console %s begins at %s, with a whole step, and ends now', (period, from) => {
  expect(iso(spanOf(period, NOW))).toEqual([from, '2026-11-15T14:25:10.500Z'])
})

test('§8.2.3 every period has the steps that it says, and the one before is as long and touches it', () => {
  for (const period of PERIOD_IDS) {
    const span = spanOf(period, NOW)
    const before = spanBefore(span)
    expect(Math.ceil((span.to_ms - span.from_ms) / STEP_MS[span.step])).toBe(PERIODS[period].steps)
    expect(before.to_ms - before.from_ms).toBe(span.to_ms - span.from_ms)
    expect(span.from_ms - before.from_ms).toBe(PERIODS[period].steps * STEP_MS[span.step])
  }
})

test('§8.2.3 what was chosen: days with both included, or instants; none where they make no sense', () => {
  expect(spanChosen('2026-11-01', '2026-11-07', NOW)).toMatchObject({ step: 'hour' })
  const span = spanChosen('2026-11-01', '2026-11-08', NOW)
  expect(span).toMatchObject({ step: 'day' })
  expect(span && iso(span)).toEqual(['2026-11-01T00:00:00.000Z', '2026-11-09T00:00:00.000Z'])
  expect(spanChosen('2026-11-01T02:00:00Z', '2026-11-01T05:00:00Z', NOW)).toMatchObject({ step: 'minute' })
  for (const [first, last] of [
    ['2026-11-02', '2026-11-01'],
    ['', '2026-11-01'],
    ['2026-11-01', 'soon'],
    ['2020-01-01', '2026-11-01'],
  ] as const)
    expect(spanChosen(first, last, NOW)).toBeUndefined()
})

test('§8.2.3 days that include today end now: half a day is compared with half a day', () => {
  const span = spanChosen('2026-11-14', '2026-11-15', NOW)
  expect(span && iso(span)).toEqual(['2026-11-14T00:00:00.000Z', '2026-11-15T14:25:10.500Z'])
  expect(span && iso(spanBefore(span))[1]).toBe('2026-11-13T23:25:10.500Z')
})

test('§console one step of a span ends where the span does', () => {
  const span = spanOf('24h', NOW)
  expect(iso(spanOfStep(span, Date.parse('2026-11-15T13:00:00Z')))).toEqual([
    '2026-11-15T13:00:00.000Z',
    '2026-11-15T14:00:00.000Z',
  ])
  expect(iso(spanOfStep(span, Date.parse('2026-11-15T14:00:00Z')))[1]).toBe('2026-11-15T14:25:10.500Z')
})
