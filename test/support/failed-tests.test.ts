import { expect, test } from 'vitest'
import { filesThatFailed, outcomeOf } from './failed-tests.ts'

const why = `AssertionError: expected 1 to be 2\n    at /checkout/src/a.test.ts:3:1\n    at /x/node_modules/vitest/a.js\n`
const held = (fullName: string) => ({ fullName, status: 'passed', failureMessages: [''] })
const broke = (fullName: string) => ({ fullName, status: 'failed', failureMessages: [`${why}${'line\n'.repeat(40)}`] })
const left = (fullName: string) => ({ fullName, status: 'skipped', failureMessages: [''] })
const file = (name: string, ...assertionResults: ReturnType<typeof held>[]) => {
  const status = assertionResults.every((test) => test.status !== 'failed') ? 'passed' : 'failed'
  return { name: `/checkout/src/${name}.test.ts`, status, message: '', assertionResults }
}
const unloaded = { name: '/checkout/src/b.test.ts', status: 'failed', message: 'SyntaxError: no', assertionResults: [] }
const report = {
  testResults: [file('a', held('§1 holds'), broke('§2 does not')), unloaded, file('c', held('§3 holds'), left('§4'))],
}

test('§tests each failed test is named with the first lines of why, a file that could not be loaded too', () => {
  const { failed, ...rest } = outcomeOf(report, {}, '/checkout')
  expect(rest).toEqual({ passed: 2, skipped: 1, flaky: [] })
  expect(failed).toHaveLength(2)
  const [first, second] = failed
  expect(first?.split('\n').slice(0, 4)).toEqual([
    'src/a.test.ts > §2 does not',
    '    AssertionError: expected 1 to be 2',
    '        at /checkout/src/a.test.ts:3:1',
    '    line',
  ])
  expect(first?.split('\n')).toHaveLength(13)
  expect(second).toBe('src/b.test.ts\n    SyntaxError: no')
})

test('§tests what failed and passed when its file was run again is flaky, and not counted as passed', () => {
  expect(filesThatFailed(report)).toEqual(['/checkout/src/a.test.ts', '/checkout/src/b.test.ts'])
  const again = { testResults: [file('a', broke('§1 holds'), held('§2 does not')), file('b', held('§5'), left('§6'))] }
  const { failed, flaky, ...counts } = outcomeOf(report, again, '/checkout')
  expect([failed, counts]).toEqual([[], { passed: 3, skipped: 2 }])
  expect(flaky.map((one) => one.split('\n')[0])).toEqual(['src/a.test.ts > §2 does not', 'src/b.test.ts'])
})

test('§tests what fails again has failed, and so has what was not run again', () => {
  const again = { testResults: [file('a', held('§1 holds'), broke('§2 does not')), unloaded] }
  for (const second of [again, { testResults: [file('a', held('§1 holds'), left('§2 does not'))] }])
    expect(outcomeOf(report, second, '/checkout')).toMatchObject({
      flaky: [],
      failed: [expect.any(String), 'src/b.test.ts\n    SyntaxError: no'],
    })
})

test('§tests a run that left no report names nothing', () => {
  expect(outcomeOf({}, {}, '/x')).toEqual({ passed: 0, skipped: 0, failed: [], flaky: [] })
})
