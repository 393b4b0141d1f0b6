// Tools that a client of Responses runs itself, as functions of chat and back: freeform tools (`custom`), groups of
// tools (`namespace`) and the local shell. Hosted search is left out, and told: clients work without it. Any other tool
// is run by the upstream, and refused by name.
import { hash } from 'node:crypto'
import { jsonInText, type TextBudget } from '../core/json-in-text.ts'
import { Refusal } from '../core/refusal.ts'
import type { CustomCallItem, FunctionCallItem, OutputItem, ShellCallItem } from './response-object.ts'
import { isObject, type Json, type ResponseRequest, wrong } from './response-request.ts'

export interface ChatFunction {
  type: 'function'
  function: { name: string; [field: string]: unknown }
}

/** A tool as its client calls it. */
interface ClientTool {
  kind: 'function' | 'custom' | 'local_shell'
  name: string
  namespace: string | undefined
}

export interface ClientTools {
  functions: readonly ChatFunction[]
  /** By the name that chat has for it. */
  named: ReadonlyMap<string, ClientTool>
  /** Fields of the request that the upstream is not told of. */
  left_out: readonly string[]
}

const HOSTED_SEARCH = /^web_search(_preview)?(_\d{4}_\d\d_\d\d)?$/
export const isHostedSearch = (type: unknown) => typeof type === 'string' && HOSTED_SEARCH.test(type)

const NAME_MAX = 64 // of a function in chat
const DIGEST = 8

/** The same for the same tool, whoever asks: histories name tools too. */
export function chatNameOf(name: string, namespace: unknown): string {
  if (typeof namespace !== 'string' || namespace === '') return name
  const joined = `${namespace}__${name}`
  if (joined.length <= NAME_MAX) return joined
  return `${joined.slice(0, NAME_MAX - DIGEST - 1)}_${hash('sha256', joined, 'hex').slice(0, DIGEST)}`
}

export const SHELL_NAME = 'local_shell'

export function clientTools({ tools }: Pick<ResponseRequest, 'tools'>): ClientTools {
  const functions: ChatFunction[] = []
  const named = new Map<string, ClientTool>()
  const left_out: string[] = []

  function add(tool: Json, place: string, namespace?: Json): void {
    if (isHostedSearch(tool.type)) {
      left_out.push(place)
      return
    }
    const client = clientTool(tool, place, namespace?.name as string | undefined)
    const chat_name = chatNameOf(client.name, client.namespace)
    if (named.has(chat_name)) throw wrong(`${place}.name`, 'be another than that of any other tool')
    named.set(chat_name, client)
    functions.push({ type: 'function', function: { name: chat_name, ...chatForm(tool, client, namespace) } })
  }

  for (const [at, tool] of tools.entries()) {
    const place = `tools[${at}]`
    if (tool.type === 'namespace')
      for (const [n, inner] of innerTools(tool, place).entries()) add(inner, `${place}.tools[${n}]`, tool)
    else add(tool, place)
  }
  return { functions, named, left_out }
}

function innerTools(tool: Json, place: string): readonly Json[] {
  if (typeof tool.name !== 'string' || tool.name === '') throw wrong(`${place}.name`, 'be a non-empty string')
  if (!Array.isArray(tool.tools) || !tool.tools.every(isObject)) throw wrong(`${place}.tools`, 'be an array of tools')
  return tool.tools
}

function clientTool({ type, name }: Json, place: string, namespace: string | undefined): ClientTool {
  if (type === 'local_shell' && namespace === undefined) return { kind: type, name: SHELL_NAME, namespace }
  if (type !== 'function' && type !== 'custom') throw cannotRun(place, type)
  if (typeof name !== 'string' || name === '') throw wrong(`${place}.name`, 'be a non-empty string')
  return { kind: type, name, namespace }
}

export const cannotRun = (field: string, type: unknown) =>
  new Refusal(
    'invalid_request',
    `'${field}' asks for a '${type}' tool, which the upstream of this model cannot run. Use 'function', 'custom' or ` +
      `'namespace' tools.`,
  )

function chatForm(
  { description, parameters, strict, format }: Json,
  { kind }: ClientTool,
  namespace: Json | undefined,
): Json {
  const about = [namespace?.description, description]
    .filter((one) => typeof one === 'string' && one !== '')
    .join('\n\n')
  if (kind === 'function') return given({ description: about || undefined, parameters, strict })
  if (kind === 'local_shell') return { description: 'Runs a command on the machine of the caller.', parameters: SHELL }
  return { description: [about, grammarOf(format)].filter((one) => one !== '').join('\n\n'), parameters: FREEFORM }
}

const given = (fields: Json) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined))

const FREEFORM = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
  required: ['input'],
  additionalProperties: false,
}
const SHELL = {
  type: 'object',
  properties: {
    command: { type: 'array', items: { type: 'string' } },
    working_directory: { type: 'string' },
    timeout_ms: { type: 'integer' },
    env: { type: 'object', additionalProperties: { type: 'string' } },
  },
  required: ['command'],
}

/** No chat upstream keeps a model to a grammar; told of it, models mostly keep to it. */
function grammarOf(format: unknown): string {
  if (!isObject(format) || format.type !== 'grammar') return ''
  return `The input must match this grammar (${format.syntax}):\n\n${format.definition}`
}

/** What a client is shown of a call: the item itself, where it is a function's. */
export function shownCall(item: FunctionCallItem, tool: ClientTool | undefined): OutputItem {
  if (!tool) return item
  item.name = tool.name
  if (tool.namespace !== undefined) item.namespace = tool.namespace
  const { id, status, call_id, name, namespace } = item
  if (tool.kind === 'custom')
    return {
      id,
      type: 'custom_tool_call',
      status,
      call_id,
      name,
      input: '',
      ...(namespace !== undefined && { namespace }),
    }
  if (tool.kind === 'local_shell')
    return { id, type: 'local_shell_call', status, call_id, action: { type: 'exec', command: [], env: {} } }
  return item
}

/** The input of a freeform tool, out of the arguments that stand for it. What is no such object is itself the input. */
export function finishCustom(item: CustomCallItem, text: string, budget: TextBudget): void {
  const said = objectIn(text, budget)
  item.input = typeof said?.input === 'string' ? said.input : text
}

export function finishShell(item: ShellCallItem, text: string, budget: TextBudget): void {
  const { command, working_directory, timeout_ms, env } = objectIn(text, budget) ?? {}
  const words = Array.isArray(command) ? command.map(String) : ['bash', '-lc', String(command ?? text)]
  item.action = {
    type: 'exec',
    command: words,
    env: isObject(env) ? env : {},
    ...(typeof working_directory === 'string' && { working_directory }),
    ...(typeof timeout_ms === 'number' && { timeout_ms }),
  }
}

function objectIn(text: string, budget: TextBudget): Json | undefined {
  const value = jsonInText(text, budget)
  return isObject(value) ? value : undefined
}
