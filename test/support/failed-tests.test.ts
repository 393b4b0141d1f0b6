import { expect, test } from 'vitest'
import { failedTests } from './failed-tests.ts'

const passed = { fullName: '§1 holds', status: 'passed', failureMessages: [] }

test('§tests each failed test is named with the first lines of why, a file that could not be loaded too', () => {
  const why = `AssertionError: expected 1 to be 2\n    at /checkout/src/a.test.ts:3:1\n    at /x/node_modules/vitest/a.js\n`
  const failed = { fullName: '§2 does not', status: 'failed', failureMessages: [`${why}${'line\n'.repeat(40)}`] }
  const told = failedTests(
    {
      testResults: [
        { name: '/checkout/src/a.test.ts', status: 'failed', assertionResults: [passed, failed] },
        { name: '/checkout/src/b.test.ts', status: 'failed', message: 'SyntaxError: no', assertionResults: [] },
        { name: '/checkout/src/c.test.ts', status: 'passed', message: '', assertionResults: [passed] },
      ],
    },
    '/checkout',
  )
  expect(told).toHaveLength(2)
  const [first, second] = told
  expect(first?.split('\n').slice(0, 4)).toEqual([
    'src/a.test.ts > §2 does not',
    '    AssertionError: expected 1 to be 2',
    '        at /checkout/src/a.test.ts:3:1',
    '    line',
  ])
  expect(first?.split('\n')).toHaveLength(13)
  expect(second).toBe('src/b.test.ts\n    SyntaxError: no')
})

test('§tests a run that left no report names nothing', () => {
  expect(failedTests({}, '/x')).toEqual([])
})
