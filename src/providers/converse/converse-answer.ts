// From an answer of Converse to a chat completion's JSON.
import { type ConverseAnswer, finishOf, usageOf } from './converse-shapes.ts'

/** What Converse does not say of an answer, and chat does. */
export interface AnswerNames {
  id: string
  model: string
  created: number
}

interface Telling {
  names: AnswerNames
  one_call: boolean
}

export function toCompletion(answer: ConverseAnswer, { names, one_call }: Telling) {
  const { id, model, created } = names
  const blocks = answer.output?.message?.content ?? []
  const text = blocks.flatMap(({ text, citationsContent }) =>
    text !== undefined ? [text] : (citationsContent?.content ?? []).map((one) => one.text ?? ''),
  )
  const thought = blocks.flatMap(({ reasoningContent }) => reasoningContent?.reasoningText?.text ?? [])
  const calls = blocks.flatMap(({ toolUse }) => (toolUse ? [toolUse] : [])).slice(0, one_call ? 1 : undefined)
  const tool_calls = calls.map(({ toolUseId, name, input }) => ({
    id: toolUseId,
    type: 'function' as const,
    function: { name, arguments: JSON.stringify(input ?? {}) },
  }))
  const usage = usageOf(answer.usage)
  return {
    id,
    object: 'chat.completion' as const,
    created,
    model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant' as const,
          content: text.length > 0 ? text.join('') : null,
          refusal: null,
          ...(thought.length > 0 && { reasoning_content: thought.join('') }),
          ...(tool_calls.length > 0 && { tool_calls }),
        },
        logprobs: null,
        finish_reason: finishOf(answer.stopReason),
      },
    ],
    ...(usage && { usage }),
  }
}
