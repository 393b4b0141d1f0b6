// A bundle in Anthropic's protocol (R81): its texts for the system before the client's own, its other turns before the
// client's turns, its tools before the client's tools, and one mark where the cached prefix ends.

import type { Artifact } from '../artifacts/artifact.ts'
import { escapedBytes, inlineBytes } from '../artifacts/artifact-reference.ts'
import { jsonIn, textOf } from '../core/json-bytes.ts'
import { atFrontOf, type Change, withChanges } from '../core/json-elements.ts'
import { type Fields, spanOf } from '../core/json-splice.ts'
import { writtenInSteps } from '../core/json-writing.ts'
import { Refusal } from '../core/refusal.ts'
import { inTurns } from '../core/turns.ts'
import type { BundleContents, BundleTurn } from './bundle.ts'

type Json = Readonly<Record<string, unknown>>

/** A list of the request, with what goes before it. */
interface Front {
  name: 'system' | 'messages' | 'tools'
  values: readonly Json[]
  elements: Buffer
}

export interface MessagesBundle {
  fronts: readonly Front[]
  tool_names: ReadonlySet<string>
  bytes: number
}

const MARK = { cache_control: { type: 'ephemeral' } }

/** What it has more here than in chat, where each document is base64: those that are texts stand here as such. */
export const moreInMessages = ({ turns }: BundleContents): number =>
  turns
    .filter(({ artifact }) => isTextDocument(artifact))
    .reduce((sum, { artifact, content }) => sum + Math.max(0, escapedBytes(content) - inlineBytes(artifact)), 0)

/** `isMarked`: with the end of the cached prefix on its last block, in the order in which the protocol caches. */
export async function renderForMessages({ tools, turns }: BundleContents, isMarked: boolean): Promise<MessagesBundle> {
  const last = turns.findLast(({ role }) => role === 'user') ?? turns.at(-1)
  const blockFor = (turn: BundleTurn) => ({ ...blockOf(turn), ...(isMarked && turn === last && MARK) })
  const functions = tools ? (jsonIn(tools.content) as ChatTool[]) : []
  const system = turns.filter(({ role }) => role !== 'user').map(blockFor)
  const messages = turns
    .filter(({ role }) => role === 'user')
    .map((turn) => ({ role: 'user', content: [blockFor(turn)] }))
  const fronts: Front[] = []
  for (const [name, values] of [
    ['tools', functions.map(toolOf)],
    ['system', system],
    ['messages', messages],
  ] as const)
    if (values.length > 0) fronts.push({ name, values, elements: await elementsIn(values) })
  return {
    fronts,
    tool_names: new Set(functions.map((tool) => tool.function.name)),
    bytes: fronts.reduce((sum, { elements }) => sum + elements.length, 0),
  }
}

/** R77: in steps, what stands between the brackets of an array. */
const elementsIn = async (values: readonly Json[]) => (await inTurns(writtenInSteps(values))).subarray(1, -1)

const isTextDocument = ({ kind, media_type }: Artifact) => kind === 'document' && media_type !== 'application/pdf'

function blockOf({ artifact, content }: BundleTurn): Json {
  const { kind, media_type, name } = artifact
  if (kind === 'text') return { type: 'text', text: textOf(content) }
  if (isTextDocument(artifact))
    return { type: 'document', source: { type: 'text', media_type: 'text/plain', data: textOf(content) } }
  const source = { type: 'base64', media_type, data: content.toString('base64') }
  return kind === 'image' ? { type: 'image', source } : { type: 'document', source, ...(name && { title: name }) }
}

interface ChatTool {
  function: { name: string; description?: unknown; parameters?: unknown }
}

const NO_PARAMETERS = { type: 'object', properties: {} }

const toolOf = ({ function: { name, description, parameters } }: ChatTool): Json => ({
  name,
  ...(description !== undefined && { description }),
  input_schema: { ...NO_PARAMETERS, ...(typeof parameters === 'object' && parameters) }, // R77: no text's characters
})

/** As bytes: every byte of the client's own stays. */
export function spliceIntoMessages({ bytes, json }: { bytes: Buffer; json: Fields }, bundle: MessagesBundle) {
  refuseEqualNames(json.tools, bundle)
  const changes = bundle.fronts.map((front) => changeFor(bytes, json, front))
  const fields = Object.fromEntries(
    bundle.fronts.map(({ name, values }) => [name, [...values, ...itemsOf(name, json[name])]]),
  )
  return { bytes: withChanges(bytes, joinedAtFront(changes)), json: { ...json, ...fields } }
}

const itemsOf = (name: Front['name'], said: unknown): readonly unknown[] =>
  typeof said === 'string' && name === 'system' ? [{ type: 'text', text: said }] : ((said ?? []) as unknown[])

function changeFor(bytes: Buffer, json: Fields, { name, elements }: Front): Change {
  const list = spanOf(bytes, name)
  const said = json[name] ?? null
  if (list && Array.isArray(said)) return atFrontOf(bytes, list, elements)
  if (list && typeof said === 'string' && name === 'system') {
    const text = bytes.subarray(list.start, list.end)
    const around = [Buffer.from('['), elements, Buffer.from(',{"type":"text","text":'), text, Buffer.from('}]')]
    return { start: list.start, end: list.end, bytes: Buffer.concat(around) }
  }
  if (said !== null) throw new Refusal('invalid_request', `'${name}' must be an array.`)
  const array = Buffer.concat([Buffer.from('['), elements, Buffer.from(']')])
  if (list) return { start: list.start, end: list.end, bytes: array }
  const at = bytes.indexOf('{') + 1
  return { start: at, end: at, bytes: Buffer.concat([Buffer.from(`"${name}":`), array, Buffer.from(',')]) }
}

/** Fields that were not there all go to the front of the object, in their order. */
function joinedAtFront(changes: readonly Change[]): Change[] {
  const at_front = changes.filter(({ start, end, bytes }) => start === end && bytes[0] === 0x22)
  const [first] = at_front
  if (!first) return [...changes]
  const rest = changes.filter((change) => !at_front.includes(change))
  return [{ ...first, bytes: Buffer.concat(at_front.map(({ bytes }) => bytes)) }, ...rest]
}

function refuseEqualNames(tools: unknown, { tool_names }: MessagesBundle): void {
  if (tool_names.size === 0 || !Array.isArray(tools)) return
  for (const [at, tool] of (tools as ({ name?: unknown } | null)[]).entries())
    if (typeof tool?.name === 'string' && tool_names.has(tool.name))
      throw new Refusal(
        'invalid_request',
        `'tools[${at}]': the bundle of 'Agent-Bundle' has a tool '${tool.name}' as well.`,
      )
}
