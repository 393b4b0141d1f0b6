// R77: whatever an upstream says of its calls is counted, as what it says in text is.
import { expect, test } from 'vitest'
import { BUDGETS } from '../core/foreign.ts'
import { responseEvents } from './event-stream.ts'
import { outputItems, TOO_MUCH } from './output-items.ts'
import { readResponseRequest } from './response-request.ts'

const IDS = { response_id: 'resp_abc', created_at_s: 1_760_000_000 }
const LONG = 'x'.repeat(250_000)
const CALLS = 72 // of which 67 are as much as is told

const fresh = () => outputItems(IDS.response_id, () => {})
const piece = (index: number, id: string | undefined, name: string | undefined) => ({
  tool_calls: [{ index, ...(id !== undefined && { id }), function: { name, arguments: '' } }],
})

test.each<[string, (index: number) => object[]]>([
  ['ids', (index) => [piece(index, `${index}${LONG}`, 'f')]],
  ['names', (index) => [piece(index, `${index}`, LONG)]],
  ['names that come later', (index) => [piece(index, `${index}`, undefined), piece(index, undefined, LONG)]],
])('R77 calls are told until their %s are too much', (_what, piecesOf) => {
  const output = fresh()
  const full_at = Array.from({ length: CALLS }, (_, index) => {
    for (const said of piecesOf(index)) output.add(said as Record<string, unknown>, [])
    return output.isFull()
  }).indexOf(true)
  expect(full_at).toBe(67)
  expect(output.weight()).toBeGreaterThan(67 * LONG.length)
})

test('R77 a stream that says too much in the ids of its calls has failed, and no more of it is taken', async () => {
  const events = responseEvents(readResponseRequest({ model: 'm', input: 'x', stream: true }), IDS)
  for (let index = 0; index < CALLS; index++) {
    const chunk = { model: 'm', choices: [{ index: 0, delta: piece(index, `${index}${LONG}`, 'f') }] }
    events.push(Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`))
    await events.late()
  }
  expect(events.isOver()).toBe(true)
  expect(events.response()).toMatchObject({ status: 'failed', error: { message: TOO_MUCH } })
  expect(events.response().output).toHaveLength(68)
})

test('R77 parts that alternate count, though they say next to nothing', () => {
  const output = outputItems(IDS.response_id, () => {}, undefined, BUDGETS.answer.bytes / 16)
  let pieces = 0
  for (; !output.isFull() && pieces < 1_000_000 / 16; pieces++)
    output.add(pieces % 2 === 0 ? { content: 'x' } : { refusal: 'x' }, [])
  expect(pieces).toBeLessThan(300_000 / 16)
})

test('R77 only a number is the index of a call, and only a text its id', () => {
  const output = fresh()
  const fragments = [
    { index: LONG, id: 'a', function: { name: 'f', arguments: '{' } },
    { index: `${LONG}1`, id: 'a', function: { arguments: '}' } },
    { index: 1, id: [LONG], function: { name: 'g', arguments: '[' } },
    { index: 1, id: [], function: { arguments: ']' } },
  ]
  output.add({ tool_calls: fragments }, [])
  expect(output.items()).toMatchObject([
    { call_id: 'a', name: 'f', arguments: '{}' },
    { call_id: 'call_abc_1', name: 'g', arguments: '[]' },
  ])
  expect(output.weight()).toBeLessThan(100)
})
