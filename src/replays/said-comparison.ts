// Whether two answers say the same: in their words, as JSON where both are JSON, and in the tools that they ask for. No
// tool is run, and no model judges. Pure.
import { type Static, Type } from 'typebox'
import { jsonInText, type TextBudget, textBudget } from '../core/json-in-text.ts'
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
  json: orNull(
    same('As JSON, whatever the order of keys and the spaces; null where one of the two is none, or very large.'),
  ),
  tool_names: orNull(same('The tools in their order; null where neither asks for one.')),
  tool_arguments: orNull(same('The tools with their arguments, as JSON; null where neither asks for one.')),
  finish_reason: same('Why it ended.'),
})
export type Sameness = Static<typeof Sameness>

export function sameness(one: Said, other: Said): Sameness {
  const has_tools = one.tools.length + other.tools.length > 0
  const [json_one, json_other] = [canonical(one.text), canonical(other.text)]
  const [budget_one, budget_other] = [textBudget(), textBudget()]
  return {
    text: one.text === other.text,
    json: json_one === undefined || json_other === undefined ? null : json_one === json_other,
    tool_names: has_tools ? isEqual(one.tools.map(nameOf), other.tools.map(nameOf)) : null,
    tool_arguments: has_tools
      ? isEqual(one.tools.map(callOf(budget_one)), other.tools.map(callOf(budget_other)))
      : null,
    finish_reason: one.finish_reason === other.finish_reason,
  }
}

const nameOf = ({ name }: Said['tools'][number]) => name
const callOf =
  (budget: TextBudget) =>
  ({ name, arguments: given }: Said['tools'][number]) =>
    JSON.stringify([name, canonical(given, budget) ?? given])

const isEqual = (one: readonly string[], other: readonly string[]) =>
  one.length === other.length && one.every((text, at) => text === other[at])

/** One text for all that mean the same object or list; undefined where the text is neither, or too much (R77). */
export function canonical(text: string, budget: TextBudget = textBudget()): string | undefined {
  const bare = unfenced(text)
  if (!/^\s*[{[]/.test(bare)) return undefined
  const value = jsonInText(bare, budget)
  if (value === undefined) return undefined
  try {
    return JSON.stringify(sorted(value, 0))
  } catch {
    return undefined
  }
}

const FENCE = '```'

/** Models like fences. Found from both ends: a pattern for it would take the cube of the blank lines between them. */
function unfenced(text: string): string {
  const fenced = text.trim()
  const [first, last] = [fenced.indexOf('\n'), fenced.lastIndexOf('\n')]
  if (first === last || !fenced.startsWith(FENCE) || fenced.slice(last).trim() !== FENCE) return text
  const language = fenced.slice(FENCE.length, first).trim()
  return language === '' || language === 'json' ? fenced.slice(first + 1, last) : text
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
