// The page of usage by its address, the groups that are drawn, and trace ids in whatever was pasted.
import { expect, test } from 'vitest'
import { tracesIn } from '../../api/csv-calls.ts'
import type { UsageStep } from '../../api/timeline-calls.ts'
import type { UsageGroup } from '../../api/usage-calls.ts'
import { changedQuery } from '../../state/address-query.ts'
import { traceIn } from '../traces/trace-id.ts'
import { splitSeries } from './usage-chart.tsx'
import { largest } from './usage-figures.ts'
import { frameFrom, spanIn } from './usage-view.ts'

const NOW = Date.parse('2026-11-15T14:25:10.500Z')

test('§console an address that says nothing shows 30 days by model, and nonsense is as good as nothing', () => {
  const nothing = { range: '30d', by: 'model', compare: false, filters: {} }
  expect(frameFrom(new URLSearchParams(''))).toMatchObject(nothing)
  expect(frameFrom(new URLSearchParams('range=1y&by=session_id&compare=1&trace_id=x&model='))).toMatchObject(nothing)
  const custom = frameFrom(new URLSearchParams('range=custom&from=x&to=y'))
  expect(spanIn(custom, NOW)).toEqual(spanIn(frameFrom(new URLSearchParams('')), NOW))
})

test('§console filters come from the address, and go back to it without what was emptied', () => {
  const query = changedQuery('range=7d&at=x&model=a', { model: 'a/b c', key_id: 'key_1', at: undefined, range: '' })
  expect(query).toBe('model=a%2Fb+c&key_id=key_1')
  expect(frameFrom(new URLSearchParams(query)).filters).toEqual({ model: 'a/b c', key_id: 'key_1' })
})

const step = (start: string, requests: number) => ({ start, requests }) as UsageStep
const requests = (one: UsageStep) => one.requests

test('§8.2.3 parts and the rest add up to the whole, and never to less than nothing', () => {
  const whole = [step('a', 10), step('b', 4)]
  const parts = [{ name: 'x', steps: [step('a', 6), step('b', 5)] }]
  const [x, rest] = splitSeries(whole, parts, requests)
  expect(x?.values).toEqual([6, 5])
  expect(rest).toMatchObject({ label: 'the rest', values: [4, 0] })
  expect(splitSeries(whole, [], requests)).toMatchObject([{ label: 'all', values: [10, 4] }])
  expect(splitSeries([step('a', 6)], parts, requests)).toHaveLength(1)
})

test('§8.2.3 the five largest have a colour of their own; what ran on no cluster has no name to ask for', () => {
  const groups = [3, 9, 0, 4, 5, 6, 7].map((events, n) => ({ cluster_id: n === 1 ? null : `byc_${n}`, events }))
  expect(largest(groups as UsageGroup[], 'cluster_id', ({ events }) => events)).toEqual([
    'byc_6',
    'byc_5',
    'byc_4',
    'byc_3',
    'byc_0',
  ])
})

test.each([
  ['trc_0aZ9', 'trc_0aZ9'],
  ['  agent-trace-id: trc_0aZ9\r\n', 'trc_0aZ9'],
  ['https://example.com/console/traces/trc_0aZ9?x', 'trc_0aZ9'],
  ['{"trace_id":"trc_0aZ9"}', 'trc_0aZ9'],
  ['x-request-id: req_0aZ9', 'req_0aZ9'],
  ['{"reqId":"req_0aZ9","trace_id":"trc_0aZ9"}', 'trc_0aZ9'],
  ['key_0aZ9', undefined],
  ['trc_', undefined],
])('§10.2 in %j the trace is %s', (text, id) => {
  expect(traceIn(text)).toBe(id)
})

test('§8.2.3 the rows of a table are known by their trace ids, and only by those in the first cell', () => {
  const text = 'trace_id,model\r\ntrc_1,gpt\r\ntrc_2,"trc_9,x"\r\ntrc_3,\r\n'
  expect(tracesIn(text)).toEqual(['trc_1', 'trc_2', 'trc_3'])
})
