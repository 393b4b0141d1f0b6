// From chat messages to Messages turns: system texts apart, tool results as the user's words, neighbours of one role
// together.
import { BUDGETS } from '../../core/foreign.ts'
import { partsIn } from '../../core/json-survey.ts'
import type { ChatField } from '../chat-field.ts'
import { CHAT_MESSAGE_FIELDS } from './anthropic-fields.ts'
import type { Block, ImageSource, Turn } from './anthropic-messages.ts'

/** The request asks for something that cannot be said in the Messages protocol. The text is for the caller. */
export class Untranslatable extends Error {
  override readonly name = 'Untranslatable'
}

interface ChatMessage {
  role?: unknown
  content?: unknown
  refusal?: unknown
  tool_calls?: unknown
  tool_call_id?: unknown
}

type MessageFields = Readonly<Record<string, ChatField>>

/** Names of what the upstream is not told of are added to `left_out`; `fields` says what becomes of each. */
export function toTurns(
  messages: unknown,
  left_out: Set<string>,
  fields: MessageFields = CHAT_MESSAGE_FIELDS,
): { system: Block[]; turns: Turn[] } {
  if (!Array.isArray(messages)) throw new Untranslatable("'messages' must be an array.")
  const system: Block[] = []
  const turns: Turn[] = []
  const budget = { parts: ARGUMENT_PARTS_MAX }
  for (const [index, message] of (messages as (ChatMessage | null)[]).entries()) {
    const at = `messages[${index}]`
    checkFields(asObject(message ?? {}, at), at, { fields, left_out })
    if (message?.role === 'system' || message?.role === 'developer')
      for (const block of blocksOf(message.content, at)) system.push(block)
    else addTurn(turns, turnOf(message ?? {}, at, budget))
  }
  return { system, turns }
}

/** R77: a text that is taken for an object has a field for each of its characters. */
export function asObject(value: unknown, at: string): object {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw new Untranslatable(`'${at}' must be an object.`)
}

interface Checked {
  fields: MessageFields
  left_out: Set<string>
}

function checkFields(message: object, at: string, { fields, left_out }: Checked): void {
  for (const [name, value] of Object.entries(message)) {
    if (value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)) continue
    const { fate = 'left out, and told', how = '' } = fields[name] ?? {}
    if (fate === 'refused') throw new Untranslatable(`'${at}.${name}' cannot be used with this model. ${how}`)
    if (fate === 'left out, and told') left_out.add(`messages[].${name}`)
  }
}

/** Roles must alternate there; and a turn without content, which chat allows, would be refused. */
function addTurn(turns: Turn[], turn: Turn): void {
  const last = turns.at(-1)
  if (turn.content.length === 0) return
  if (last?.role !== turn.role) turns.push(turn)
  else for (const block of turn.content) last.content.push(block) // there may be more than a call takes
}

function turnOf(message: ChatMessage, at: string, budget: ArgumentsBudget): Turn {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: blocksOf(message.content, at) }
    case 'assistant':
      return {
        role: 'assistant',
        content: [...blocksOf(message.content, at), ...toolUses(message.tool_calls, at, budget)],
      }
    case 'tool':
      return { role: 'user', content: [toolResult(message, at)] }
    default:
      throw new Untranslatable(`'${at}.role' must be system, developer, user, assistant or tool.`)
  }
}

function toolResult({ tool_call_id, content }: ChatMessage, at: string): Block {
  if (typeof tool_call_id !== 'string') throw new Untranslatable(`'${at}.tool_call_id' must be a string.`)
  return { type: 'tool_result', tool_use_id: tool_call_id, content: blocksOf(content, at) }
}

interface ToolCall {
  id?: unknown
  function?: { name?: unknown; arguments?: unknown }
}

function toolUses(calls: unknown, at: string, budget: ArgumentsBudget): Block[] {
  if (!Array.isArray(calls)) return []
  return (calls as (ToolCall | null)[]).map((call, index) => {
    const { name, arguments: text } = call?.function ?? {}
    spend(budget, text, `${at}.tool_calls[${index}]`)
    if (typeof call?.id !== 'string' || typeof name !== 'string')
      throw new Untranslatable(`'${at}.tool_calls[${index}]' must have an id and a function.`)
    return { type: 'tool_use', id: call.id, name, input: toolInput(text, `${at}.tool_calls[${index}]`) }
  })
}

/** R77: what may still be parsed of the arguments of one request, which this protocol wants as objects. */
interface ArgumentsBudget {
  parts: number
}

const ARGUMENT_PARTS_MAX = 50_000

function spend(budget: ArgumentsBudget, text: unknown, at: string): void {
  if (typeof text !== 'string') return
  budget.parts -= partsIn(BUDGETS.generation, Buffer.from(text)) ?? Number.POSITIVE_INFINITY
  if (budget.parts < 0)
    throw new Untranslatable(`'${at}.function.arguments': the arguments of a request may have 50,000 parts in all.`)
}

function toolInput(text: unknown, at: string): Record<string, unknown> {
  if (text === undefined || text === '') return {}
  try {
    const input: unknown = JSON.parse(String(text))
    if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input as Record<string, unknown>
  } catch {
    // Said below, as for any other value that is no object.
  }
  throw new Untranslatable(`'${at}.function.arguments' must be the text of a JSON object.`)
}

interface Part {
  type?: unknown
  text?: unknown
  refusal?: unknown
  image_url?: unknown
  file?: { file_data?: unknown; filename?: unknown }
  cache_control?: unknown
}

function blocksOf(content: unknown, at: string): Block[] {
  if (content === null || content === undefined || content === '') return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (!Array.isArray(content)) throw new Untranslatable(`'${at}.content' must be a string or an array of parts.`)
  return (content as (Part | null)[]).flatMap((part, index) => blockOf(part ?? {}, `${at}.content[${index}]`))
}

function blockOf(part: Part, at: string): Block[] {
  const marked = part.cache_control ? { cache_control: part.cache_control } : {}
  const { text = part.refusal } = part
  switch (part.type) {
    case 'text':
    case 'refusal':
      if (typeof text !== 'string') throw new Untranslatable(`'${at}.text' must be a string.`)
      return text === '' ? [] : [{ type: 'text', text, ...marked }]
    case 'image_url':
      return [{ type: 'image', source: imageSource(part.image_url, at), ...marked }]
    case 'file':
      return [{ ...documentOf(part, at), ...marked }]
    default:
      throw new Untranslatable(`'${at}.type' must be text, image_url or file for this model.`)
  }
}

const DATA_URI = /^data:([a-z]+\/[a-z0-9.+-]+);base64,/i

function imageSource(image: unknown, at: string): ImageSource {
  const url = typeof image === 'string' ? image : (image as { url?: unknown } | null | undefined)?.url
  if (typeof url !== 'string') throw new Untranslatable(`'${at}.image_url.url' must be a string.`)
  if (!url.startsWith('data:')) return { type: 'url', url }
  return inline(url, `${at}.image_url.url`)
}

function documentOf({ file }: Part, at: string): Block {
  const { file_data, filename } = file ?? {}
  if (typeof file_data !== 'string') throw new Untranslatable(`'${at}.file.file_data' must be a data URI.`)
  const source = inline(file_data, `${at}.file.file_data`)
  return { type: 'document', source, ...(typeof filename === 'string' && { title: filename }) }
}

/** What everybody writes, and the protocol refuses. */
const REAL_NAMES: Record<string, string> = { 'image/jpg': 'image/jpeg' }

function inline(uri: string, at: string): { type: 'base64'; media_type: string; data: string } {
  const [prefix, media_type] = DATA_URI.exec(uri) ?? []
  if (!prefix || !media_type) throw new Untranslatable(`'${at}' must be a base64 data URI.`)
  const named = media_type.toLowerCase()
  return { type: 'base64', media_type: REAL_NAMES[named] ?? named, data: uri.slice(prefix.length) }
}
