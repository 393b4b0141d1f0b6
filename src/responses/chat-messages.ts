// A conversation in Responses items, said as chat messages. What chat completions have no words for is refused, by the
// place where it stands; nothing is left out in silence, except reasoning, which chat models do not take back.
import { Refusal } from '../core/refusal.ts'
import { chatNameOf, SHELL_NAME } from './client-tools.ts'
import { isReference } from './response-items.ts'
import { type Item, isObject, type Json, wrong } from './response-request.ts'

export interface ChatMessage {
  role: 'system' | 'user' | 'assistant' | 'tool'
  content: string | readonly Json[] | null
  tool_calls?: ChatToolCall[]
  tool_call_id?: string
}

export interface ChatToolCall {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
}

/** Many upstreams know no `developer`; those that do take `system` for it. */
const ROLES = new Map<unknown, ChatMessage['role']>([
  ['user', 'user'],
  ['assistant', 'assistant'],
  ['system', 'system'],
  ['developer', 'system'],
])

export function chatMessages(history: readonly Item[], input: readonly Item[]): ChatMessage[] {
  const messages: ChatMessage[] = []
  for (const item of history) append(messages, item, 'previous_response_id')
  for (const [at, item] of input.entries()) append(messages, item, `input[${at}]`)
  checkCalls(messages)
  return messages
}

/** `place` is where the item stands in the request, as a caller would write it. */
function append(messages: ChatMessage[], item: Item, place: string): void {
  const type = isReference(item) ? 'item_reference' : (item.type ?? 'message')
  if (type === 'message') appendMessage(messages, item, place)
  else if (CALLS.has(type)) appendCall(messages, item, place)
  else if (OUTPUTS.has(type)) messages.push(toolMessage(item, place))
  else if (type !== 'reasoning') throw untranslatable(place, `an item of the type '${type}'`)
}

const CALLS = new Set<unknown>(['function_call', 'custom_tool_call', 'local_shell_call'])
const OUTPUTS = new Set<unknown>(['function_call_output', 'custom_tool_call_output', 'local_shell_call_output'])

/** As chat names it, and what it was called with as JSON text. */
function calledWith(item: Item, place: string): { name: string; arguments: string } {
  if (item.type === 'local_shell_call') {
    const { type: _type, ...action } = isObject(item.action) ? item.action : ({} as Json)
    return { name: SHELL_NAME, arguments: JSON.stringify(action) }
  }
  const name = chatNameOf(textField(item, 'name', place), item.namespace)
  if (item.type !== 'custom_tool_call') return { name, arguments: textField(item, 'arguments', place) }
  return { name, arguments: JSON.stringify({ input: textField(item, 'input', place) }) }
}

function appendMessage(messages: ChatMessage[], { role, content }: Item, place: string): void {
  const chatRole = ROLES.get(role)
  if (!chatRole) throw wrong(`${place}.role`, "be 'user', 'assistant', 'system' or 'developer'")
  if (chatRole === 'assistant') appendAssistant(messages, assistantText(content, place))
  else messages.push({ role: chatRole, content: contentFrom(content, `${place}.content`) })
}

/** Chat has text and calls of one turn in one message; and an empty text is no message at all to some upstreams. */
function appendAssistant(messages: ChatMessage[], text: string): void {
  const last = messages.at(-1)
  if (last?.role === 'assistant' && last.tool_calls) last.content = `${last.content ?? ''}${text}` || null
  else if (text !== '') messages.push({ role: 'assistant', content: text })
}

function appendCall(messages: ChatMessage[], item: Item, place: string): void {
  const call: ChatToolCall = {
    id: textField(item, 'call_id', place),
    type: 'function',
    function: calledWith(item, place),
  }
  const last = messages.at(-1)
  if (last?.role === 'assistant') {
    last.tool_calls ??= []
    last.tool_calls.push(call) // a copy for each would cost their square
  } else messages.push({ role: 'assistant', content: null, tool_calls: [call] })
}

function toolMessage(item: Item, place: string): ChatMessage {
  const content = contentFrom(item.output, `${place}.output`)
  const texts = typeof content === 'string' ? undefined : content.map((part) => part.text)
  const isPlain = texts?.every((text) => typeof text === 'string')
  return {
    role: 'tool',
    tool_call_id: textField(item, item.call_id === undefined ? 'id' : 'call_id', place), // of a shell, its call's id
    content: isPlain && texts ? texts.join('') : content,
  }
}

function textField(item: Item, field: string, place: string): string {
  const value = item[field]
  if (typeof value !== 'string') throw wrong(`${place}.${field}`, 'be a string')
  return value
}

function assistantText(content: unknown, place: string): string {
  if (typeof content === 'string') return content
  return parts(content, `${place}.content`)
    .map((part, at) => {
      const text = part.type === 'refusal' ? part.refusal : part.text
      if (typeof text !== 'string' || !ASSISTANT_PARTS.has(part.type))
        throw untranslatable(`${place}.content[${at}]`, `a part of the type '${part.type}' in an assistant message`)
      return text
    })
    .join('')
}

const ASSISTANT_PARTS = new Set<unknown>(['output_text', 'input_text', 'text', 'refusal'])

function contentFrom(content: unknown, place: string): string | readonly Json[] {
  if (typeof content === 'string') return content
  const chat = parts(content, place).map((part, at) => chatPart(part, `${place}[${at}]`))
  const [first] = chat
  return chat.length === 1 && typeof first?.text === 'string' && !first.cache_control ? first.text : chat
}

function parts(content: unknown, place: string): readonly Json[] {
  if (!Array.isArray(content)) throw wrong(place, 'be a string or an array of parts')
  for (const [at, part] of content.entries()) if (!isObject(part)) throw wrong(`${place}[${at}]`, 'be an object')
  return content
}

/** What ends a cached prefix ends it there too. */
function chatPart(part: Json, place: string): Json {
  const said = saidPart(part, place)
  return part.cache_control ? { ...said, cache_control: part.cache_control } : said
}

function saidPart(part: Json, place: string): Json {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: 'text', text: textField(part, 'text', place) }
    case 'input_image':
      return imagePart(part, place)
    case 'input_file':
      return filePart(part, place)
    case 'input_audio':
      return { type: 'input_audio', input_audio: part.input_audio }
    default:
      throw untranslatable(place, `a part of the type '${part.type}'`)
  }
}

function imagePart({ image_url, detail }: Json, place: string): Json {
  if (typeof image_url !== 'string') throw untranslatable(place, "an image without an 'image_url'")
  const level = detail === 'original' ? 'high' : detail // chat has no word for the former
  return { type: 'image_url', image_url: { url: image_url, ...(typeof level === 'string' && { detail: level }) } }
}

function filePart({ file_data, filename }: Json, place: string): Json {
  if (typeof file_data !== 'string') throw untranslatable(place, "a file without its 'file_data'")
  return { type: 'file', file: { file_data, ...(typeof filename === 'string' && { filename }) } }
}

/** A chat template fed an answer without its question, or the reverse, mostly does not fail: it misleads the model. */
function checkCalls(messages: readonly ChatMessage[]): void {
  const open = new Set<string>()
  for (const { role, tool_calls = [], tool_call_id = '' } of messages) {
    for (const { id } of tool_calls) open.add(id)
    if (role === 'tool' && !open.delete(tool_call_id))
      throw new Refusal('invalid_request', `'input' has an output for the call '${tool_call_id}', which nobody made.`)
  }
  for (const id of open)
    throw new Refusal('invalid_request', `'input' must have a function_call_output for the call '${id}'.`)
}

function untranslatable(place: string, what: string): Refusal {
  const verb = place === 'previous_response_id' ? 'leads to' : 'is'
  return new Refusal('invalid_request', `'${place}' ${verb} ${what}, which the upstream of this model cannot take.`)
}
