// R77: JSON that stands inside a text, such as what a model calls a tool with. Whoever counted the members of what
// carries the text has not counted these: they have a budget of their own, for all texts of one answer together.
import { AT_ONCE_BYTES, BUDGETS, type Budget, jsonWithinOrNone } from './foreign.ts'
import { jsonOrNone } from './json-bytes.ts'
import { partsIn } from './json-survey.ts'
import { nextTurn } from './turns.ts'

const AT_ONCE_PARTS = 10_000
const AT_ONCE_CHARACTERS = 4 * 1024 * 1024

/** What may still be read at once. */
export interface TextBudget {
  parts: number
  characters: number
}

export const textBudget = (): TextBudget => ({ parts: AT_ONCE_PARTS, characters: AT_ONCE_CHARACTERS })

/** Undefined where it is no JSON, or more than is left of the budget. */
export function jsonInText(text: string, budget: TextBudget): unknown {
  if (text.length > budget.characters) return undefined
  budget.characters -= text.length
  const parts = partsIn(within(budget.parts), Buffer.from(text))
  if (parts === undefined || parts > budget.parts) return undefined
  budget.parts -= parts
  return jsonOrNone(text)
}

/** For texts of one answer, one after the other, in turns with others: undefined where one is no JSON, or too much. */
export function textsInTurns(): (text: string) => Promise<unknown> {
  let left: number = BUDGETS.answer.parts
  let read = 0
  return async (text) => {
    read += text.length
    if (read > AT_ONCE_BYTES) {
      read = 0
      await nextTurn()
    }
    const json = Buffer.from(text)
    const budget = within(left)
    const parts = partsIn(budget, json)
    if (parts === undefined) return undefined
    left = Math.max(0, left - parts)
    return jsonWithinOrNone(budget, json)
  }
}

const within = (parts: number): Budget => ({ ...BUDGETS.answer, parts, values: parts })
