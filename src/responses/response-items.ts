// The items of a conversation as they are kept and listed. An item's id names its response, so that a later request can
// point at an item by its id alone and the store finds it without an index.
import { Refusal } from '../core/refusal.ts'
import { type Bounds, wholeNumber } from '../core/text-values.ts'
import { type Item, isObject, isResponseId, type Json, wrong } from './response-request.ts'

const RESP = 'resp_'

/** `msg_` and the letters of its response, with its place there; `i` tells what went in from what came out. */
export const itemId = (prefix: string, response_id: string, place: number | `i${number}`) =>
  `${prefix}_${response_id.slice(RESP.length)}_${place}`

/** The response that an item's id names; undefined where it names none. */
export function responseOfItem(item_id: string): string | undefined {
  const token = /^[a-z]+_(.+)_i?\d{1,9}$/.exec(item_id)?.[1]
  const response_id = token === undefined ? undefined : RESP + token
  return response_id !== undefined && isResponseId(response_id) ? response_id : undefined
}

const PREFIXES = new Map([
  ['message', 'msg'],
  ['function_call', 'fc'],
  ['function_call_output', 'fco'],
  ['custom_tool_call', 'ctc'],
  ['custom_tool_call_output', 'ctco'],
  ['local_shell_call', 'lsc'],
  ['local_shell_call_output', 'lsco'],
  ['reasoning', 'rs'],
])

/** A pointer to an item instead of the item: `{"type":"item_reference","id":"msg_…"}`, the type may be left out. */
export const isReference = ({ type, role, id }: Item) =>
  type === 'item_reference' || (type === undefined && role === undefined && typeof id === 'string')

/** Input as it is kept: every item with its type and an id that no other has, a text as the part that it stands for. */
export function keptInput(items: readonly Item[], response_id: string): Item[] {
  const taken = new Set<unknown>()
  return items.map((item, at) => {
    const type = typeof item.type === 'string' ? item.type : 'message'
    const isFree = typeof item.id === 'string' && item.id !== '' && !taken.has(item.id)
    const id = isFree ? item.id : itemId(PREFIXES.get(type) ?? 'item', response_id, `i${at}`)
    taken.add(id)
    return { ...(type === 'message' ? keptMessage(item) : item), id, type }
  })
}

function keptMessage(item: Item): Item {
  const { role, content, status = 'completed' } = item
  if (typeof content !== 'string') return { ...item, status }
  const part =
    role === 'assistant'
      ? { type: 'output_text', text: content, annotations: [], logprobs: [] }
      : { type: 'input_text', text: content }
  return { ...item, status, content: [part] }
}

/** Which items of a list are asked for. Without a limit all of them are: lists come in one page (§8.2). */
export interface ItemsPage {
  limit: number | undefined
  order: 'asc' | 'desc'
  after: string | undefined
}

const LIMIT: Bounds = { minimum: 1, maximum: 100 }

export function readItemsPage(query: Json): ItemsPage {
  const { limit, order = 'desc', after } = query
  if (order !== 'asc' && order !== 'desc') throw wrong('order', "be 'asc' or 'desc'")
  if (after !== undefined && typeof after !== 'string') throw wrong('after', 'be the id of an item')
  return { limit: limit === undefined ? undefined : wholeNumber('limit', String(limit), LIMIT), order, after }
}

export interface ItemList {
  object: 'list'
  data: readonly Item[]
  first_id: string | null
  last_id: string | null
  has_more: boolean
}

/** One page of items that are given oldest first. */
export function listItems(items: readonly Item[], { limit, order, after }: ItemsPage): ItemList {
  const ordered = order === 'asc' ? items : items.toReversed()
  const from = after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1
  if (after !== undefined && from === 0) throw new Refusal('invalid_request', `'after' names no item of this response.`)
  const data = ordered.slice(from, limit === undefined ? undefined : from + limit)
  return {
    object: 'list',
    data,
    first_id: idOf(data[0]),
    last_id: idOf(data.at(-1)),
    has_more: from + data.length < ordered.length,
  }
}

const idOf = (item: Item | undefined) => (isObject(item) && typeof item.id === 'string' ? item.id : null)
