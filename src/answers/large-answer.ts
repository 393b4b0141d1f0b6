// What a whole answer that is too large to be parsed tells (R77): whether it has what was asked for, its usage, or else
// how much was generated. Found over its bytes in steps, and none of it is kept.
import { BUDGETS, toldBounds } from '../core/foreign.ts'
import { skipSpace } from '../core/json-bytes.ts'
import { Outline } from '../core/json-outline.ts'
import { surveyInSteps } from '../core/json-survey.ts'
import { UpstreamError } from '../providers/provider.ts'
import { GENERATED, quarterTokensIn } from './generated-text.ts'

const OPEN_BRACE = 0x7b
const FIELDS = new Set(['choices', 'output', 'data', 'content', 'usage', 'error'])

export interface LargeAnswer {
  /** The list that was asked for. */
  result: 'none' | 'empty' | 'filled'
  has_error: boolean
  usage: unknown
  quarter_tokens: number
}

/** Undefined where it is no object that has an end. */
export function* readLargeAnswer(json: Buffer, result: string): Generator<void, LargeAnswer | undefined> {
  const answer = new GeneratedOutline(json, FIELDS)
  const surveyed = yield* surveyInSteps(BUDGETS.answer, json, answer)
  if (surveyed === 'beyond') throw new UpstreamError('too_many_parts', new Error(toldBounds(BUDGETS.answer)))
  if (surveyed === 'unbalanced' || json[skipSpace(json, 0)] !== OPEN_BRACE) return undefined
  return {
    result: answer.list(result),
    has_error: answer.isSomething('error'),
    usage: answer.value('usage'),
    quarter_tokens: answer.quarter_tokens,
  }
}

const GENERATED_IN: ReadonlySet<string> = new Set(['choices', 'output', 'content'])

class GeneratedOutline extends Outline {
  /** By depth: the name that a text there goes by, which in an array is that of the array. */
  readonly #names: string[] = ['']
  #is_generated = false
  quarter_tokens = 0

  override opened(_at: number, depth: number): void {
    this.#names[depth + 1] = this.#names[depth] as string
  }

  override text(start: number, end: number, depth: number): void {
    const name = this.name(start, end, depth)
    if (name !== undefined) {
      this.#names[depth] = name
      if (depth === 1) this.#is_generated = GENERATED_IN.has(name)
    } else if (this.#is_generated && GENERATED.has(this.#names[depth] as string))
      this.quarter_tokens += quarterTokensIn(this.json.subarray(start + 1, end - 1))
  }
}
