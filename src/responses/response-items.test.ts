// Items as they are kept, pointed at, and listed.
import { expect, test } from 'vitest'
import { itemId, keptInput, listItems, readItemsPage, responseOfItem } from './response-items.ts'
import type { Item } from './response-request.ts'

test('§7.2 the id of an item names its response', () => {
  expect(itemId('msg', 'resp_abc', 3)).toBe('msg_abc_3')
  expect(itemId('msg', 'resp_abc', 'i3')).toBe('msg_abc_i3')
  for (const id of ['msg_abc_3', 'fc_abc_12', 'msg_abc_i0', 'rs_abc_0']) expect(responseOfItem(id)).toBe('resp_abc')
})

test.each(['', 'msg', 'msg_abc', 'abc_x', 'msg_\0_1', `msg_${'x'.repeat(200)}_1`])(
  '§7.2 %j names no response',
  (id) => {
    expect(responseOfItem(id)).toBeUndefined()
  },
)

test('§7.2 input is kept with types, ids and parts', () => {
  const call = { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'f', arguments: '{}' }
  const kept = keptInput(
    [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b' },
      {
        type: 'message',
        role: 'user',
        id: 'msg_mine',
        content: [{ type: 'input_text', text: 'c' }],
        status: 'incomplete',
      },
      call,
      { type: 'function_call_output', call_id: 'c', output: 'd' },
      { type: 'constructor' },
    ],
    'resp_abc',
  )
  expect(kept).toEqual([
    {
      id: 'msg_abc_i0',
      type: 'message',
      role: 'user',
      status: 'completed',
      content: [{ type: 'input_text', text: 'a' }],
    },
    {
      id: 'msg_abc_i1',
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'b', annotations: [], logprobs: [] }],
    },
    {
      id: 'msg_mine',
      type: 'message',
      role: 'user',
      status: 'incomplete',
      content: [{ type: 'input_text', text: 'c' }],
    },
    call,
    { id: 'fco_abc_i4', type: 'function_call_output', call_id: 'c', output: 'd' },
    { id: 'item_abc_i5', type: 'constructor' },
  ])
})

test('§7.2 no two kept items have the same id', () => {
  const twice = { type: 'message', role: 'user', id: 'msg_1', content: [] }
  expect(keptInput([twice, twice], 'resp_abc').map(({ id }) => id)).toEqual(['msg_1', 'msg_abc_i1'])
})

const items: Item[] = Array.from({ length: 130 }, (_, at) => ({ id: `msg_${at}` }))
const ids = (list: { data: readonly Item[] }) => list.data.map(({ id }) => id)

test('§8.2 without a limit all items are one page, newest first', () => {
  const list = listItems(items, readItemsPage({}))
  expect(ids(list)).toEqual(items.map(({ id }) => id).reverse())
  expect(list).toMatchObject({ object: 'list', first_id: 'msg_129', last_id: 'msg_0', has_more: false })
})

test('§7.2 page by page, every item is seen once', () => {
  for (const order of ['asc', 'desc'] as const) {
    const seen: unknown[] = []
    for (let page = listItems(items, readItemsPage({ limit: '50', order })); ; ) {
      seen.push(...ids(page))
      if (!page.has_more) break
      page = listItems(items, readItemsPage({ limit: '50', order, after: page.last_id }))
    }
    expect(seen).toEqual(order === 'asc' ? items.map(({ id }) => id) : items.map(({ id }) => id).reverse())
  }
})

test('§7.2 an empty list has no first and no last', () => {
  expect(listItems([], readItemsPage({}))).toEqual({
    object: 'list',
    data: [],
    first_id: null,
    last_id: null,
    has_more: false,
  })
})

test.each<[object, string]>([
  [{ limit: '0' }, "'limit' must be a whole number from 1 to 100."],
  [{ limit: '101' }, "'limit' must be a whole number from 1 to 100."],
  [{ limit: 'x' }, "'limit' must be a whole number from 1 to 100."],
  [{ limit: ['1', '2'] }, "'limit' must be a whole number from 1 to 100."],
  [{ order: 'up' }, "'order' must be 'asc' or 'desc'."],
  [{ after: ['a', 'b'] }, "'after' must be the id of an item."],
])('§7.2 400 on the page %j', (query, message) => {
  expect(() => readItemsPage(query as Item)).toThrow(message)
})

test('§7.2 400 on an item that the response does not have', () => {
  expect(() => listItems(items, readItemsPage({ after: 'msg_x' }))).toThrow("'after' names no item of this response.")
})
