// Output items as they grow, with the event for every step. A whole completion goes through here as one step, so that a
// response reads the same streamed or not.
import { BUDGETS } from '../core/foreign.ts'
import { textBudget } from '../core/json-in-text.ts'
import { type ClientTools, finishCustom, finishShell, shownCall } from './client-tools.ts'
import { itemId } from './response-items.ts'
import type {
  ContentPart,
  EndStatus,
  FunctionCallItem,
  ItemStatus,
  MessageItem,
  OutputItem,
  ReasoningItem,
} from './response-object.ts'
import { isObject, type Json } from './response-request.ts'

/** Takes an event as things stand. What it is handed goes on growing, so it is written down at once or not at all. */
export type Emit = (type: string, fields: Json) => void

/** Where an upstream says which call a fragment belongs to: by index, by id, or not at all. */
interface Named {
  index: number | undefined
  id: string | undefined
}

interface Call extends Named {
  place: number
  item: FunctionCallItem
  /** What the client sees of it: the item itself, where it is a function's. */
  shown: OutputItem
}

/** The message or the reasoning that is being written, and the part of it that is. */
interface Prose {
  place: number
  item: MessageItem | ReasoningItem
  part: ContentPart
}

const DELTAS = {
  output_text: 'response.output_text.delta',
  refusal: 'response.refusal.delta',
  reasoning_text: 'response.reasoning_text.delta',
} as const

/** Each item is told in several events, and once more at the end. */
const ITEMS_MAX = 1_024
/** In one chunk. */
const FRAGMENTS_MAX = 4_096
/** What all items may hold: a stream is told again as a whole at its end, and a whole answer has no more (R77). */
const CHARACTERS_MAX = BUDGETS.answer.bytes
const LOGPROBS_MAX = BUDGETS.answer.parts / 2 // each is an object with a member, at the least
export const TOO_MUCH = 'The upstream made more calls, or said more, than can be told.'
const LOGPROB_CHARACTERS = 64 // at the least, as it is written
const PART_CHARACTERS = 64 // the same of a part, without its text

const NO_TOOLS: ClientTools['named'] = new Map()

/** `tools` are those that are no plain functions to their client, by the name that chat has for them. */
export function outputItems(
  response_id: string,
  emit: Emit,
  tools: ClientTools['named'] = NO_TOOLS,
  characters_max = CHARACTERS_MAX,
) {
  const items: OutputItem[] = []
  const calls = callsByName()
  const budget = textBudget() // R77
  let prose: Prose | undefined
  let is_full = false
  const held = { characters: 0, logprobs: 0 }

  function open<I extends OutputItem>(item: I): number {
    const place = items.push(item) - 1
    emit('response.output_item.added', { output_index: place, item })
    return place
  }

  function write(type: ContentPart['type'], delta: string, logprobs?: readonly unknown[]): void {
    const current = prose?.part.type === type ? prose : openPart(type)
    if (delta === '') return
    const { place, item, part } = current
    held.characters += delta.length
    held.logprobs += countOf(logprobs)
    grow(part, delta, logprobs)
    // Named one by one, because this runs for every chunk; what is undefined is not written.
    const content_index = item.content.length - 1
    emit(DELTAS[type], { item_id: item.id, output_index: place, content_index, delta, logprobs })
  }

  function openPart(type: ContentPart['type']): Prose {
    const kind = type === 'reasoning_text' ? 'reasoning' : 'message'
    if (prose?.item.type === kind) closePart(prose)
    else closeProse('completed')
    const { place, item } = prose ?? openProse(kind)
    const part = freshPart(type)
    item.content.push(part as never) // the kind of item goes by the kind of part
    held.characters += PART_CHARACTERS
    prose = { place, item, part }
    emit('response.content_part.added', { ...where(prose), part })
    return prose
  }

  function openProse(kind: 'message' | 'reasoning') {
    const status = 'in_progress'
    const item: MessageItem | ReasoningItem =
      kind === 'message'
        ? { id: itemId('msg', response_id, items.length), type: kind, status, role: 'assistant', content: [] }
        : { id: itemId('rs', response_id, items.length), type: kind, status, summary: [], content: [] }
    return { place: open(item), item }
  }

  function addCall(fragment: Json): void {
    const { function: called } = fragment
    const { name: said, arguments: given } = isObject(called) ? called : ({} as Json)
    const named = namesOf(fragment)
    const name = textIn(said) ?? ''
    const call = calls.find(named, name !== '') ?? openCall(named, name)
    if (call.item.name === '' && name !== '') {
      call.item.name = name
      held.characters += name.length
    }
    const delta = typeof given === 'string' ? given : given === undefined || given === null ? '' : JSON.stringify(given)
    if (delta === '') return
    call.item.arguments += delta
    held.characters += delta.length
    if (call.shown !== call.item) return // its arguments are not what its client is told
    emit('response.function_call_arguments.delta', { item_id: call.item.id, output_index: call.place, delta })
  }

  function openCall({ index, id }: Named, name: string): Call {
    closeProse('completed')
    const place = items.length
    const item: FunctionCallItem = {
      id: itemId('fc', response_id, place),
      type: 'function_call',
      status: 'in_progress',
      call_id: id ?? itemId('call', response_id, place),
      name,
      arguments: '',
    }
    held.characters += item.call_id.length + name.length
    const shown = shownCall(item, tools.get(item.name))
    open(shown)
    const call = { index, id, place, item, shown }
    calls.add(call)
    return call
  }

  function closeCall({ place, item, shown }: Call): void {
    const at = { item_id: item.id, output_index: place }
    if (shown.type === 'local_shell_call') finishShell(shown, item.arguments, budget)
    else if (shown.type === 'custom_tool_call') {
      finishCustom(shown, item.arguments, budget)
      emit('response.custom_tool_call_input.delta', { ...at, delta: shown.input })
      emit('response.custom_tool_call_input.done', { ...at, input: shown.input })
    } else emit('response.function_call_arguments.done', { ...at, name: item.name, arguments: item.arguments })
  }

  function closePart(current: Prose): void {
    const { part } = current
    emit(`response.${part.type}.done`, { ...where(current), ...wholeOf(part) })
    emit('response.content_part.done', { ...where(current), part })
  }

  function closeProse(status: EndStatus): void {
    if (!prose) return
    const { place, item } = prose
    closePart(prose)
    prose = undefined
    closeItem(place, item, status)
  }

  function closeItem(place: number, item: OutputItem, status: ItemStatus): void {
    item.status = status
    emit('response.output_item.done', { output_index: place, item })
  }

  return {
    /** Takes a chat message, or the piece of one that a chunk brings. */
    add(message: Json, logprobs: readonly unknown[]): void {
      const reasoning = message.reasoning_content ?? message.reasoning
      if (typeof reasoning === 'string' && reasoning !== '') write('reasoning_text', reasoning)
      const text = textOf(message.content)
      if (text !== '') write('output_text', text, logprobs)
      if (typeof message.refusal === 'string' && message.refusal !== '') write('refusal', message.refusal)
      const fragments = Array.isArray(message.tool_calls) ? message.tool_calls : []
      is_full ||= fragments.length > FRAGMENTS_MAX
      for (const call of is_full ? [] : fragments) if (isObject(call)) addCall(call)
      is_full ||= items.length > ITEMS_MAX || held.characters > characters_max || held.logprobs > LOGPROBS_MAX
    },

    /** Ends what is still open. Calls stay open until here, because upstreams may write several at a time. */
    close(status: EndStatus): void {
      // Clients look into the first item of a completed response; so an empty answer is an empty message.
      if (items.length === 0 && status === 'completed') write('output_text', '', [])
      closeProse(status)
      for (const call of calls.all) {
        closeCall(call)
        closeItem(call.place, call.shown, status)
      }
    },

    /** What there is, where the response failed: nothing in it is finished that had not been before. */
    abandon(): void {
      for (const item of items) if (item.status === 'in_progress') item.status = 'incomplete'
    },

    items: () => items,

    /** About as many characters as it takes to write them. */
    weight: () => held.characters + LOGPROB_CHARACTERS * held.logprobs,

    /** R77: an upstream said or began more than anybody means; nothing more is taken. */
    isFull: () => is_full,
  }
}

/** Found by what a fragment says of its call; an upstream may begin any number of them. */
function callsByName() {
  const all: Call[] = []
  const byId = new Map<string, Call>()
  const byIndex = new Map<number, Call>()
  const nameOf = ({ id, index }: Named) => JSON.stringify([id, index])

  return {
    all,

    add(call: Call): void {
      all.push(call)
      if (call.id !== undefined && !byId.has(nameOf(call))) byId.set(nameOf(call), call)
      if (call.index !== undefined) byIndex.set(call.index, call)
    },

    /** The call that a fragment goes on with; undefined where it begins one. */
    find({ index, id }: Named, has_name: boolean): Call | undefined {
      const same = id === undefined ? undefined : byId.get(nameOf({ id, index }))
      if (same) return same
      if (index === undefined) return id !== undefined || has_name ? undefined : all.at(-1)
      // Some upstreams write 0 as the index of every call: another id with a name is another call all the same.
      return id !== undefined && has_name ? undefined : byIndex.get(index)
    },
  }
}

/** What is anything else names nothing, and is not kept (R77). */
const namesOf = ({ index, id }: Json): Named => ({
  index: typeof index === 'number' ? index : undefined,
  id: textIn(id),
})

const textIn = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)

/** With those that each names beside itself. */
function countOf(logprobs: readonly unknown[] = []): number {
  let count = logprobs.length
  for (const one of logprobs) if (isObject(one) && Array.isArray(one.top_logprobs)) count += one.top_logprobs.length
  return count
}

/** Most upstreams write content as a text; some as a list of parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : '')).join('')
}

const where = ({ place, item }: Prose) => ({
  item_id: item.id,
  output_index: place,
  content_index: item.content.length - 1,
})

function freshPart(type: ContentPart['type']): ContentPart {
  if (type === 'output_text') return { type, text: '', annotations: [], logprobs: [] }
  return type === 'refusal' ? { type, refusal: '' } : { type, text: '' }
}

function wholeOf(part: ContentPart): Json {
  if (part.type === 'refusal') return { refusal: part.refusal }
  return part.type === 'output_text' ? { text: part.text, logprobs: part.logprobs } : { text: part.text }
}

function grow(part: ContentPart, delta: string, logprobs: readonly unknown[] = []): void {
  if (part.type === 'refusal') part.refusal += delta
  else part.text += delta
  if (part.type === 'output_text') for (const one of logprobs) part.logprobs.push(one) // too many to be arguments
}
