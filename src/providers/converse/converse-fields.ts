// What becomes of each field of a chat request on a model that is asked by Bedrock's Converse (0348): said in its
// words, left out and told in `Agent-Ignored-Fields` because only the quality of an answer hangs on it, or refused by
// name because the answer, or its price, would be another one. The tables of docs/MESSAGES.md are made of this.
import { type ChatField, leftOut, ONLY_CHAT_HAS, refused, told, translated } from '../chat-field.ts'

const OWN_PRICE = 'It has a price of its own there, which is not known here.'
const OWN_FIELD = 'It is said by the fields of chat.'

export const CONVERSE_FIELDS: Readonly<Record<string, ChatField>> = {
  model: translated('In the path, as the target calls it.'),
  messages: translated('`messages` and `system`'),
  max_tokens: translated('`inferenceConfig.maxTokens`'),
  max_completion_tokens: translated('`inferenceConfig.maxTokens`'),
  temperature: translated('`inferenceConfig.temperature`'),
  top_p: translated('`inferenceConfig.topP`'),
  top_k: translated('Of the model: `inferenceConfig.topK` for a Nova, `top_k` else.'),
  stop: translated('`inferenceConfig.stopSequences`; blank ones are left out.'),
  stream: translated('`ConverseStream` where it is true, `Converse` else.'),
  stream_options: translated('`include_usage` is kept to here; usage always comes.'),
  n: translated('Only 1.'),
  tools: translated('`toolConfig.tools`, with `strict`. Others than functions are refused.'),
  tool_choice: translated('`toolConfig.toolChoice`; `none` as no tools, refused where the messages have calls of any.'),
  parallel_tool_calls: translated('Where it is false, the first call of an answer comes back, and no other.'),
  response_format: translated('`json_schema` as `outputConfig.textFormat`; `json_object` is refused: say a schema.'),
  reasoning_effort: translated('Of the model: `reasoningConfig` for a Nova, `reasoning_effort` else.'),
  service_tier: translated('`serviceTier.type`: `default`, `flex`, `priority`; `auto` is what it is anyway.'),
  cache_control: translated('A `cachePoint` behind the last message; those of parts and tools behind these.'),
  additionalModelRequestFields: translated('As it is, but for fields that set a length.'),
  prompt_cache_key: leftOut('It chooses the target here, which keeps the cache.'),
  prompt_cache_retention: told('Say how long by `cache_control`.'),
  prompt_cache_options: told('Say how by `cache_control`.'),
  user: told('It knows no users.'),
  safety_identifier: told('It knows no users.'),
  ...ONLY_CHAT_HAS,
  web_search_options: refused('It searches nothing.'),
  functions: refused('Use `tools`.'),
  function_call: refused('Use `tool_choice`.'),
  guardrailConfig: refused(OWN_PRICE),
  performanceConfig: refused(OWN_PRICE),
  promptVariables: refused('Prompts of its own are not used.'),
  requestMetadata: refused('It is for the logs of the account.'),
  additionalModelResponseFieldPaths: refused('Chat has no place for them.'),
  inferenceConfig: refused(OWN_FIELD),
  toolConfig: refused(OWN_FIELD),
  outputConfig: refused(OWN_FIELD),
  serviceTier: refused(OWN_FIELD),
  system: refused(OWN_FIELD),
}

/** What a field of the model itself may not be called: it would set how much is said, for which a budget is held. */
export const SETS_LENGTH = /^(max|min_?(new|length|tokens)|num|(inference|text_?generation|generation)_?config)/i

/** Of a message. What says nothing (null, an empty list or text) is taken in any of them; others are told. */
export const CONVERSE_MESSAGE_FIELDS: Readonly<Record<string, ChatField>> = {
  role: translated('`role`; `system` and `developer` as `system`, `tool` as a `toolResult` of the user.'),
  content: translated('Blocks. Images and files must be data URIs: nothing is fetched.'),
  refusal: translated('A text.'),
  tool_calls: translated('`toolUse` blocks.'),
  tool_call_id: translated('`toolResult.toolUseId`'),
  name: told('Speakers have no names there.'),
  annotations: { fate: 'left out', how: 'Of an earlier answer, which is repeated as its text.' },
  reasoning_content: told('What it thought goes back signed, or not at all.'),
  reasoning: told('What it thought goes back signed, or not at all.'),
  audio: refused('It hears nothing.'),
  function_call: refused('Use `tool_calls`.'),
}
