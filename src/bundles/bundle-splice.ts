// A bundle put before what a client said: its turns before the client's turns, its tools before the client's tools. As
// bytes, so that the prefix is the same every time, and every byte of the client's own stays.
import type { Surface } from '../artifacts/artifact-reference.ts'
import { atFrontOf, type ByteSpan, type Change, withChanges } from '../core/json-elements.ts'
import { type Fields, spanOf } from '../core/json-splice.ts'
import { Refusal } from '../core/refusal.ts'
import type { RenderedBundle } from './bundle-rendering.ts'

export interface Spliced {
  bytes: Buffer
  json: Fields
  /** Where the last turn of the bundle lies in the bytes. */
  last: ByteSpan
}

const LISTS = { chat: 'messages', responses: 'input' } as const

export function spliceBundle(surface: Surface, { bytes, json }: Body, bundle: RenderedBundle): Spliced {
  refuseEqualNames(surface, json.tools, bundle)
  const name = LISTS[surface]
  const turns = turnsChange(bytes, json, name, bundle)
  const tools = bundle.tools && toolsChange(bytes, json, bundle.tools)
  const changes = tools ? [turns, tools] : [turns]
  const whole = withChanges(bytes, changes)
  const before = tools && tools.start <= turns.start ? tools.bytes.length - (tools.end - tools.start) : 0
  const from = turns.start + before + turns.bytes.indexOf(bundle.turns)
  return {
    bytes: whole,
    json: {
      ...json,
      [name]: [...bundle.items, ...itemsOf(json[name])],
      ...(bundle.tools && { tools: [...bundle.tool_values, ...((json.tools as unknown[] | null | undefined) ?? [])] }),
    },
    last: { start: from + bundle.last.start, end: from + bundle.last.end },
  }
}

interface Body {
  bytes: Buffer
  json: Fields
}

/** A text alone is what the user says. */
const itemsOf = (said: unknown): unknown[] =>
  typeof said === 'string' ? [{ role: 'user', content: said }] : ((said as unknown[] | null | undefined) ?? [])

function turnsChange(bytes: Buffer, json: Fields, name: string, { turns }: RenderedBundle): Change {
  const list = spanOf(bytes, name)
  const said = json[name]
  if (list && Array.isArray(said)) return atFrontOf(bytes, list, turns)
  if (list && typeof said === 'string') {
    const text = bytes.subarray(list.start, list.end)
    const around = [Buffer.from('['), turns, Buffer.from(',{"role":"user","content":'), text, Buffer.from('}]')]
    return { start: list.start, end: list.end, bytes: Buffer.concat(around) }
  }
  throw new Refusal('invalid_request', `'${name}' must be ${name === 'input' ? 'a string or ' : ''}an array.`)
}

function toolsChange(bytes: Buffer, json: Fields, tools: Buffer): Change {
  const list = spanOf(bytes, 'tools')
  if (list && Array.isArray(json.tools)) return atFrontOf(bytes, list, tools)
  if (list && json.tools === null)
    return { start: list.start, end: list.end, bytes: Buffer.concat([Buffer.from('['), tools, Buffer.from(']')]) }
  if (list) throw new Refusal('invalid_request', "'tools' must be an array.")
  const at = bytes.indexOf('{') + 1
  return { start: at, end: at, bytes: Buffer.concat([Buffer.from('"tools":['), tools, Buffer.from('],')]) }
}

type Tool = { name?: unknown; function?: { name?: unknown } | null } | null

/** Which of the two were meant, nobody could tell; upstreams refuse it in words of their own. */
function refuseEqualNames(surface: Surface, tools: unknown, { tool_names }: RenderedBundle): void {
  if (tool_names.size === 0 || !Array.isArray(tools)) return
  for (const [at, tool] of (tools as Tool[]).entries()) {
    const name = surface === 'chat' ? tool?.function?.name : tool?.name
    if (typeof name === 'string' && tool_names.has(name))
      throw new Refusal('invalid_request', `'tools[${at}]': the bundle of 'Agent-Bundle' has a tool '${name}' as well.`)
  }
}
