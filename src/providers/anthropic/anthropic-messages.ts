// Anthropic's Messages protocol, as far as chat is translated to it and back.
import type { MessageUsage } from '../../messages/message-usage.ts'

export type Block =
  | { type: 'text'; text: string; cache_control?: unknown }
  | { type: 'image'; source: ImageSource; cache_control?: unknown }
  | {
      type: 'document'
      source: { type: 'base64'; media_type: string; data: string }
      title?: string
      cache_control?: unknown
    }
  | { type: 'tool_use'; id: string; name: string; input: Record<string, unknown>; cache_control?: unknown }
  | { type: 'tool_result'; tool_use_id: string; content: Block[]; cache_control?: unknown }

export type ImageSource = { type: 'base64'; media_type: string; data: string } | { type: 'url'; url: string }

export interface Turn {
  role: 'user' | 'assistant'
  content: Block[]
}

export interface Message {
  id: string
  model: string
  content: { type: string; text?: string; id?: string; name?: string; input?: unknown }[]
  stop_reason: string | null
  usage?: MessageUsage
}

export type MessageEvent =
  | { type: 'message_start'; message: Message }
  | { type: 'content_block_start'; index: number; content_block: Message['content'][number] }
  | { type: 'content_block_delta'; index: number; delta: { type: string; text?: string; partial_json?: string } }
  | { type: 'content_block_stop'; index: number }
  | { type: 'message_delta'; delta: { stop_reason?: string | null }; usage?: MessageUsage }
  | { type: 'message_stop' }
  | { type: 'error'; error?: { type?: string; message?: string } }
  | { type: 'ping' }

const FINISH_REASONS: Record<string, string> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content_filter',
}

export const finishReason = (stop_reason: string | null | undefined) => FINISH_REASONS[stop_reason ?? ''] ?? 'stop'

/** OpenAI counts what was cached inside the prompt; Anthropic counts it beside. */
export function chatUsage(usage: MessageUsage) {
  const cached_tokens = usage.cache_read_input_tokens ?? 0
  const cache_write_tokens = usage.cache_creation_input_tokens ?? 0
  const cache_write_1h_tokens = usage.cache_creation?.ephemeral_1h_input_tokens ?? 0
  const prompt_tokens = (usage.input_tokens ?? 0) + cached_tokens + cache_write_tokens
  const completion_tokens = usage.output_tokens ?? 0
  return {
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    // R76: an hour has another price than five minutes, so it is told apart where there is any.
    prompt_tokens_details: {
      cached_tokens,
      cache_write_tokens,
      ...(cache_write_1h_tokens > 0 && { cache_write_1h_tokens }),
    },
  }
}

/** `msg_…` becomes what clients of chat completions expect an id to look like. */
export const chatId = (id: string) => `chatcmpl-${id.replace(/^msg_/, '')}`
