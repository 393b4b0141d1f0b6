// RFC 4180, and no cell that a spreadsheet would run.
import { expect, test } from 'vitest'
import { writeList } from '../core/list-format.ts'
import { columnsOf, csvTable } from './usage-csv.ts'
import type { Group } from './usage-query.ts'

const csv = (group_by: readonly Group[], rows: readonly object[]) =>
  writeList(csvTable(columnsOf({ group_by, group_tag: undefined })), rows)

const SUMS =
  'events,input_tokens,cached_tokens,written_tokens,output_tokens,reasoning_tokens,repeated_tokens_est,' +
  'missed_reuse_tokens,charged_micros,direct_cost_micros,savings_micros,written_off_micros,overage_micros,waived_micros'

test('§8.2.3 without rows there is still the head, ended by CR LF', () => {
  expect(csv(['day', 'model'], [])).toBe(`day,model,${SUMS}\r\n`)
  expect(csv([], [])).toMatch(/^trace_id,project_id,key_id,created_at,.*,attempts\r\n$/)
  expect(csv([], [])).toContain(`,${SUMS.replace('events,', '')},`)
})

const cellOf = (model: unknown) => {
  const [, row = ''] = csv(['model'], [{ model }]).split(/\r\n(?=.)/)
  return row.replace(new RegExp(`,{${SUMS.split(',').length}}\\r\\n$`), '')
}

test.each([
  ['gpt-4o', 'gpt-4o'],
  ['a,b', '"a,b"'],
  ['say "hi"', '"say ""hi"""'],
  ['two\nlines', '"two\nlines"'],
  [null, ''],
  [undefined, ''],
  [0, '0'],
  [-5, '-5'],
  [[{ n: 1 }], '"[{""n"":1}]"'],
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\tx', "'\tx"],
  ['\rx', '"\'\rx"'],
  ['＝1', "'＝1"],
  ['=HYPERLINK("http://x","y")', '"\'=HYPERLINK(""http://x"",""y"")"'],
])('§8.2.3 %j becomes %j', (value, cell) => {
  expect(cellOf(value)).toBe(cell)
})
