// A bundle as the protocols say it: turns and tools as bytes, the same for every call, and as the values they parse to.
import { inlineBytes, partOf, type Surface } from '../artifacts/artifact-reference.ts'
import { jsonIn } from '../core/json-bytes.ts'
import { jsonBytes } from '../core/json-writing.ts'
import type { BundleContents, BundleTurn } from './bundle.ts'

type Json = Readonly<Record<string, unknown>>

export interface RenderedBundle {
  /** Elements of `messages` or `input`, with commas between them. */
  turns: Buffer
  items: readonly Json[]
  /** Elements of `tools`; undefined where it has none. */
  tools: Buffer | undefined
  tool_values: readonly Json[]
  tool_names: ReadonlySet<string>
  /** In `turns`: from where to where the last turn lies, and how it is said with the end of a cached prefix on it. */
  last: { start: number; end: number; marked: Buffer; marked_item: Json }
}

const MARK = { cache_control: { type: 'ephemeral' } }

/** R77: in steps where it is large. */
export async function renderBundle(surface: Surface, { tools, turns }: BundleContents): Promise<RenderedBundle> {
  const items = turns.map((turn) => itemOf(surface, turn))
  const texts: Buffer[] = []
  for (const [at, { artifact }] of turns.entries()) texts.push(await jsonBytes(items[at], inlineBytes(artifact)))
  const said = Buffer.concat(texts.flatMap((text, at) => (at === 0 ? [text] : [COMMA, text])))
  const functions = tools ? (jsonIn(tools.content) as ChatTool[]) : []
  const tool_values = surface === 'chat' ? functions : functions.map(asResponsesTool)
  const last = texts.at(-1) as Buffer
  const marked_item = itemOf(surface, turns.at(-1) as BundleTurn, MARK)
  const marked = await jsonBytes(marked_item, last.length)
  return {
    turns: said,
    items,
    tools: tools && (surface === 'chat' ? insideOf(tools.content) : insideOf(Buffer.from(JSON.stringify(tool_values)))),
    tool_values: tool_values as unknown as Json[],
    tool_names: new Set(functions.map((tool) => tool.function.name)),
    last: {
      start: said.length - last.length,
      end: said.length,
      marked,
      marked_item,
    },
  }
}

const COMMA = Buffer.from(',')
const NOTHING = Buffer.alloc(0)

/** What a turn has in a chat request, to the byte, without writing it: of what is base64 there, nothing is read. */
export const chatBytes = (turn: Omit<BundleTurn, 'content'>, content?: Buffer): number =>
  Buffer.byteLength(JSON.stringify(itemOf('chat', { ...turn, content: NOTHING }))) + inlineBytes(turn.artifact, content)

/** The same of tools. */
export const toolsBytes = (content: Buffer): number => insideOf(content).length

/** A text is said as plainly as the protocol can, for upstreams that know no parts; only a marked one needs a part. */
function itemOf(surface: Surface, { role, artifact, content }: BundleTurn, mark: Json = {}): Json {
  const part = partOf(surface, artifact, content, mark)
  if (surface === 'responses') return { type: 'message', role, content: [part] }
  const isPlain = part.type === 'text' && part.cache_control === undefined
  return { role, content: isPlain ? part.text : [part] }
}

interface ChatTool {
  type: 'function'
  function: { name: string; description?: unknown; parameters?: unknown; strict?: unknown }
}

/** The protocol wants all three, null where nothing is said. */
const asResponsesTool = ({ function: { name, description = null, parameters = null, strict = null } }: ChatTool) => ({
  type: 'function',
  name,
  description,
  parameters,
  strict,
})

const [OPEN_BRACKET, CLOSE_BRACKET] = [0x5b, 0x5d]

/** What stands between the brackets of an array: the tools as they were uploaded. */
function insideOf(array: Buffer): Buffer {
  return array.subarray(array.indexOf(OPEN_BRACKET) + 1, array.lastIndexOf(CLOSE_BRACKET))
}
