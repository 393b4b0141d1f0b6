// Whether two answers say the same: in their words, as JSON where both are JSON, and in the tools that they ask for. No
// tool is run, and no model judges. Pure.
import { type Static, Type } from 'typebox'
import { orNull } from '../core/shapes.ts'

/** What an answer says, in whatever protocol. */
export interface Said {
  text: string
  finish_reason: string | null
  tools: readonly { name: string; arguments: string }[]
}

const same = (description: string) => Type.Boolean({ description })

export const Sameness = Type.Object({
  text: same('The text, character for character.'),
  json: orNull(same('As JSON, whatever the order of keys and the spaces; null where one of the two is none.')),
  tool_names: orNull(same('The tools in their order; null where neither asks for one.')),
  tool_arguments: orNull(same('The tools with their arguments, as JSON; null where neither asks for one.')),
  finish_reason: same('Why it ended.'),
})
export type Sameness = Static<typeof Sameness>

export function sameness(one: Said, other: Said): Sameness {
  const has_tools = one.tools.length + other.tools.length > 0
  const [json_one, json_other] = [canonical(one.text), canonical(other.text)]
  return {
    text: one.text === other.text,
    json: json_one === undefined || json_other === undefined ? null : json_one === json_other,
    tool_names: has_tools ? isEqual(one.tools.map(nameOf), other.tools.map(nameOf)) : null,
    tool_arguments: has_tools ? isEqual(one.tools.map(callOf), other.tools.map(callOf)) : null,
    finish_reason: one.finish_reason === other.finish_reason,
  }
}

const nameOf = ({ name }: Said['tools'][number]) => name
const callOf = (tool: Said['tools'][number]) => JSON.stringify([tool.name, canonical(tool.arguments) ?? tool.arguments])

const isEqual = (one: readonly string[], other: readonly string[]) =>
  one.length === other.length && one.every((text, at) => text === other[at])

const FENCE = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/

/** One text for all that mean the same object or list; undefined where the text is neither. Models like fences. */
export function canonical(text: string): string | undefined {
  const bare = FENCE.exec(text)?.[1] ?? text
  if (!/^\s*[{[]/.test(bare)) return undefined
  try {
    return JSON.stringify(sorted(JSON.parse(bare), 0))
  } catch {
    return undefined
  }
}

const DEPTH_MAX = 200

function sorted(value: unknown, depth: number): unknown {
  if (depth > DEPTH_MAX) throw new Error('too deep')
  if (Array.isArray(value)) return value.map((one) => sorted(one, depth + 1))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  // A list of pairs: an object would put keys that look like numbers first, and has a place for `__proto__`.
  return { entries: entries.map(([name, one]) => [name, sorted(one, depth + 1)]) }
}
