// What becomes of each field of a chat request on an upstream that speaks Messages (R81): said in its words, left out
// and told in `Agent-Ignored-Fields` because only the quality of an answer hangs on it, or refused by name because the
// answer would be another one. A field that is not here goes along: the upstream refuses what it does not know.
// The tables of docs/MESSAGES.md are made of this.
import { type ChatField, leftOut, ONLY_CHAT_HAS, refused, told, translated } from '../chat-field.ts'

const kept = (how = 'As it is.'): ChatField => ({ fate: 'kept', how })

export const CHAT_FIELDS: Readonly<Record<string, ChatField>> = {
  model: translated('The name that the target knows.'),
  messages: translated('`messages` and `system`'),
  max_tokens: translated('`max_tokens`'),
  max_completion_tokens: translated('`max_tokens`'),
  temperature: translated('As it is up to 1, where its scale ends; above it refused.'),
  top_p: kept(),
  top_k: kept(),
  thinking: kept(),
  cache_control: kept(),
  output_config: kept(),
  stop: translated('`stop_sequences`; blank ones are left out.'),
  stream: translated('`stream`'),
  stream_options: translated('`include_usage` is kept to here; usage always comes.'),
  n: translated('Only 1.'),
  tools: translated('`tools`, with `strict`. Others than functions are refused.'),
  tool_choice: translated('`tool_choice`'),
  parallel_tool_calls: translated('`tool_choice.disable_parallel_tool_use`'),
  response_format: translated('`json_schema` as `output_config.format`; `json_object` is refused: say a schema.'),
  reasoning_effort: translated('`output_config.effort`; `minimal` as `low`, `none` as no thinking.'),
  user: translated('`metadata.user_id`'),
  safety_identifier: translated('`metadata.user_id`, where there is no `user`.'),
  service_tier: translated('`default` as `standard_only`, `auto` as it is. Others are refused.'),
  prompt_cache_key: leftOut('It chooses the target here, which keeps the cache.'),
  prompt_cache_retention: told('Say how long by `cache_control`.'),
  prompt_cache_options: told('Say how by `cache_control`.'),
  ...ONLY_CHAT_HAS,
  web_search_options: refused('It searches by a tool of Messages.'),
  functions: refused('Use `tools`.'),
  function_call: refused('Use `tool_choice`.'),
  system: refused('Say it in `messages`.'),
  anthropic_beta: refused('Betas are a header of Messages.'),
  betas: refused('Betas are a header of Messages.'),
  anthropic_version: refused('It is said here.'),
}

/** Of a message. What says nothing (null, an empty list or text) is taken in any of them; others are told. */
export const CHAT_MESSAGE_FIELDS: Readonly<Record<string, ChatField>> = {
  role: translated('`role`; `system` and `developer` as `system`, `tool` as a `tool_result` of the user.'),
  content: translated('Blocks.'),
  refusal: translated('A text.'),
  tool_calls: translated('`tool_use` blocks.'),
  tool_call_id: translated('`tool_use_id`'),
  name: told('Speakers have no names there.'),
  annotations: leftOut('Of an earlier answer, which is repeated as its text.'),
  reasoning_content: refused('Thinking goes back with its signature alone, which chat cannot carry: use Messages.'),
  reasoning: refused('Thinking goes back with its signature alone, which chat cannot carry: use Messages.'),
  audio: refused('It hears nothing.'),
  function_call: refused('Use `tool_calls`.'),
}
