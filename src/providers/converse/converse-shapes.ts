// Bedrock's Converse, as far as chat is translated to it and back.
import type { MessageUsage } from '../../messages/message-usage.ts'
import { chatUsage } from '../anthropic/anthropic-messages.ts'

export type ConverseBlock =
  | { text: string }
  | { image: { format: string; source: { bytes: string } } }
  | { document: { format: string; name: string; source: { bytes: string } } }
  | { toolUse: { toolUseId: string; name: string; input: unknown } }
  | { toolResult: { toolUseId: string; content: ConverseBlock[] } }
  | { cachePoint: { type: 'default'; ttl?: string } }

export interface ConverseTurn {
  role: 'user' | 'assistant'
  content: ConverseBlock[]
}

/** A block of an answer: one of these is there. */
export interface AnsweredBlock {
  text?: string
  toolUse?: { toolUseId?: string; name?: string; input?: unknown }
  reasoningContent?: { reasoningText?: { text?: string } }
  citationsContent?: { content?: readonly { text?: string }[] }
}

export interface ConverseAnswer {
  output?: { message?: { content?: readonly AnsweredBlock[] } }
  stopReason?: string
  usage?: ConverseUsage
}

/** Input counts without what was cached, which stands beside it. */
export interface ConverseUsage {
  inputTokens?: number
  outputTokens?: number
  cacheReadInputTokens?: number
  cacheWriteInputTokens?: number
  cacheDetails?: readonly { ttl?: string; inputTokens?: number }[]
}

const FINISH_REASONS: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  guardrail_intervened: 'content_filter',
  content_filtered: 'content_filter',
}

export const finishOf = (stopReason: string | undefined) => FINISH_REASONS[stopReason ?? ''] ?? 'stop'

/** As chat tells it; undefined where none was told. */
export function usageOf(usage: ConverseUsage | undefined): ReturnType<typeof chatUsage> | undefined {
  if (typeof usage?.inputTokens !== 'number' || typeof usage.outputTokens !== 'number') return undefined
  const { inputTokens, outputTokens, cacheReadInputTokens = 0, cacheWriteInputTokens = 0, cacheDetails } = usage
  const hours = Array.isArray(cacheDetails) ? cacheDetails.filter((one) => one?.ttl === '1h') : []
  const counted: MessageUsage = {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    cache_read_input_tokens: cacheReadInputTokens,
    cache_creation_input_tokens: cacheWriteInputTokens,
    cache_creation: { ephemeral_1h_input_tokens: hours.reduce((sum, one) => sum + (one.inputTokens ?? 0), 0) },
  }
  return chatUsage(counted)
}
