// What is offered to mend a refusal leads to what refused it.
import { expect, test } from 'vitest'
import type { RefusalKind, Trace } from '../../api/insight-calls.ts'
import { mendingsOf } from './trace-mending.ts'

const mended = (layer: RefusalKind, message = 'No.', more: Partial<Trace> = {}) =>
  mendingsOf({
    key_id: 'key_1',
    target: null,
    usage: null,
    refusal: { layer, message },
    ...more,
  } as Trace).map(({ to }) => to)

test.each<[RefusalKind, string, Partial<Trace>, string[]]>([
  ['budget', "… of the API key's spending limit.", {}, ['/keys/key_1?do=Spending%20limit']],
  ['budget', "… of the project's cap.", {}, ['/settings']],
  ['budget', '… of the budget of one of its tags. Raise it.', {}, ['/settings/tags']],
  ['key_limit', 'No.', {}, ['/keys/key_1?do=Rate%20limits']],
  ['validation', 'No.', {}, ['/playground']],
  [
    'upstream',
    'No.',
    { target: 'cluster:byc_1' },
    ['/clusters/byc_1', '/requests?outcome=failed%2Cupstream_failed%2Cdeadline_exceeded%2Crefused&cluster_id=byc_1'],
  ],
  ['upstream', 'No.', { target: 'credential:pcr_1' }, ['/settings/credentials']],
  ['idempotency', 'No.', {}, []],
])('§console what mends %s', (layer, message, more, expected) => {
  expect(mended(layer, message, more)).toEqual(expected)
})

test('§console what went well needs no mending', () => {
  expect(mendingsOf({ refusal: null } as Trace)).toEqual([])
})
