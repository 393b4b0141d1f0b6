// docs/SCALE.md says what the arithmetic says.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { capacityFor, capacityRows, MEASURED } from './capacity.ts'

const SCALE = readFileSync('docs/SCALE.md', 'utf8')
const rowsBelow = (heading: string) =>
  (SCALE.split(`## ${heading}`)[1] ?? '')
    .split('\n## ')[0]
    ?.split('\n')
    .filter((line) => /^\| [\d,]+ \|/.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )

test('the table of machines is what comes out of the measured costs', () => {
  expect(rowsBelow('Machines')).toEqual(capacityRows())
})

test('every measured figure stands in the document that it was taken from', () => {
  const [performance, operations, workers] = [
    'docs/PERFORMANCE.md',
    'docs/OPERATIONS.md',
    'docs/decisions/0228-workers.md',
  ].map((path) => readFileSync(path, 'utf8'))
  for (const figure of ['318–403', '5,500 to 8,000', '8,000 to 9,500', '1 to 1,000'])
    expect(performance).toContain(figure)
  expect(operations).toContain('about a third of the processor time of the replicas')
  expect(operations).toContain('1.0 KB on PostgreSQL')
  expect(workers).toContain(`348 and ${MEASURED.shared_us} µs`)
})

test('it grows as the load does', () => {
  const [one, ten] = [capacityFor(1_000), capacityFor(10_000)]
  expect(ten.busy_cores).toBeCloseTo(10 * one.busy_cores)
  expect(ten.usage_gb_a_day).toBeCloseTo(10 * one.usage_gb_a_day)
})
