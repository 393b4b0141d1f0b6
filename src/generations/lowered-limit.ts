// R43, R76: what else of a request must change where its output limit is lowered. Thinking is a part of the output, and
// an upstream refuses a budget for it that is not below the limit.
import type { Asked } from './call.ts'

const THINKING_LEAST = 1_024 // of Messages: no smaller budget is taken

interface Thinking {
  type?: unknown
  budget_tokens?: unknown
}

const budgeted = ({ kind, json }: Pick<Asked, 'kind' | 'json'>): (Thinking & { budget_tokens: number }) | undefined => {
  const thinking = (kind === 'messages' ? json.thinking : undefined) as Thinking | null | undefined
  return thinking?.type === 'enabled' && typeof thinking.budget_tokens === 'number'
    ? (thinking as Thinking & { budget_tokens: number })
    : undefined
}

/** Below it, no answer is worth asking for. */
export const leastOutput = (asked: Asked) => (budgeted(asked) ? THINKING_LEAST + 1 : 1)

/** The fields that are set in the body: under the client's own name where it set a limit, else under `name`. */
export function loweredLimit(asked: Asked, name: string, output: number): Record<string, unknown> {
  const given = LIMITS.filter((one) => typeof asked.json[one] === 'number')
  const fields: Record<string, unknown> = Object.fromEntries(
    (given.length > 0 ? given : [name]).map((one) => [one, output]),
  )
  const thinking = budgeted(asked)
  if (thinking && thinking.budget_tokens >= output) fields.thinking = { ...thinking, budget_tokens: output - 1 }
  return fields
}

const LIMITS = ['max_tokens', 'max_completion_tokens', 'max_output_tokens']
