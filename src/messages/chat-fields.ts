// What becomes of each field of a Messages request on an upstream that speaks chat completions (R81): kept as it is,
// said in chat's words, left out and told in `Agent-Ignored-Fields` because the answer is the same kind of answer
// without it, or refused by name. A field that is not here is refused. The table in docs/MESSAGES.md is made of this.

export type Fate = 'kept' | 'translated' | 'left out, and told' | 'left out' | 'refused'

export interface FieldFate {
  fate: Fate
  how: string
}

const kept = (how = 'As it is.'): FieldFate => ({ fate: 'kept', how })
const translated = (how: string): FieldFate => ({ fate: 'translated', how })
const told = (how: string): FieldFate => ({ fate: 'left out, and told', how })
const leftOut = (how: string): FieldFate => ({ fate: 'left out', how })
const refused = (how: string): FieldFate => ({ fate: 'refused', how })

const CACHES = leftOut('Chat upstreams cache by themselves; nothing of the answer changes.')

/** Of the request itself. */
export const FIELDS: Readonly<Record<string, FieldFate>> = {
  model: translated('The name that the target knows.'),
  messages: translated('`messages`'),
  max_tokens: translated('`max_tokens` or `max_completion_tokens`, whichever the model takes.'),
  system: translated('A first message of the role `system`.'),
  stream: translated('`stream`, with `stream_options.include_usage`.'),
  stop_sequences: translated('`stop`'),
  temperature: kept(),
  top_p: kept(),
  top_k: kept('As it is; an upstream that has none says so.'),
  metadata: translated('`user_id` as `user`; one of more than 64 characters by its hash.'),
  tools: translated('`tools` of the type `function`.'),
  tool_choice: translated('`tool_choice` and `parallel_tool_calls`.'),
  thinking: translated('`reasoning_effort` by its budget, where the model takes one; else left out, and told.'),
  output_config: translated('`effort` as `reasoning_effort`, or told; `format` as `response_format`.'),
  output_format: translated('`response_format`'),
  service_tier: translated('`standard_only` as `default`; `auto` is what it is anyway.'),
  context_management: told('Nothing is cleared from the conversation.'),
  cache_control: CACHES,
  container: refused('Nothing is kept between calls.'),
  mcp_servers: refused('Chat upstreams call no servers.'),
  inference_geo: refused('Say it with regions of the project or an alias.'),
  speed: refused('There is one speed.'),
  diagnostics: told('Nothing is diagnosed.'),
  compaction: refused('Conversations are not compacted.'),
  fallbacks: refused('Say it with an alias of several targets.'),
  fallback_credit_token: refused('It is of its vendor’s own accounts.'),
  thread: refused('Nothing is kept between calls.'),
  betas: refused('Betas are a header.'),
  user_profile_id: refused('It is of its vendor’s own accounts.'),
  workspace_id: refused('It is of its vendor’s own accounts.'),
}

export const BLOCKS: Readonly<Record<string, FieldFate>> = {
  text: translated('A part of the type `text`. `citations` of earlier answers are not repeated.'),
  image: translated('A part of the type `image_url`. A `file` source is refused.'),
  document: translated('A part of the type `file`, or its text. `url` and `file` sources are refused.'),
  tool_use: translated('`tool_calls` of the assistant.'),
  tool_result: translated('A message of the role `tool`; its images follow in the user’s message.'),
  thinking: translated('Without a signature: `reasoning_content`. A signed one is refused.'),
  redacted_thinking: refused('Only its own vendor can read it.'),
  search_result: refused('Chat has no such part.'),
  server_tool_use: refused('It belongs to a tool that the upstream ran itself.'),
  web_search_tool_result: refused('It belongs to a tool that the upstream ran itself.'),
  web_fetch_tool_result: refused('It belongs to a tool that the upstream ran itself.'),
  code_execution_tool_result: refused('It belongs to a tool that the upstream ran itself.'),
  bash_code_execution_tool_result: refused('It belongs to a tool that the upstream ran itself.'),
  text_editor_code_execution_tool_result: refused('It belongs to a tool that the upstream ran itself.'),
  tool_search_tool_result: refused('It belongs to a tool that the upstream ran itself.'),
  tool_reference: refused('Every tool is told with the request.'),
  container_upload: refused('Nothing is kept between calls.'),
  mcp_tool_use: refused('Chat upstreams call no servers.'),
  mcp_tool_result: refused('Chat upstreams call no servers.'),
  mcp_tool_listing: refused('Chat upstreams call no servers.'),
  advisor_tool_result: refused('It belongs to a tool that the upstream ran itself.'),
  compaction: refused('Only its own vendor can read it.'),
  tool_addition: refused('Every tool is told with the request.'),
  tool_removal: refused('Every tool is told with the request.'),
  fallback: refused('It tells of another upstream’s answer.'),
}

/** Of the blocks that can be said. What says nothing (`null`, `false`) is taken in any of them. */
export const BLOCK_FIELDS: Readonly<Record<string, Readonly<Record<string, FieldFate>>>> = {
  text: {
    text: translated('`text`'),
    cache_control: CACHES,
    citations: leftOut('Of an earlier answer, which is repeated as its text.'),
  },
  image: {
    source: translated('`image_url.url`: `base64` as a data URI, `url` as it is. `file` is refused.'),
    cache_control: CACHES,
    transformations: refused('Chat takes an image as it is.'),
  },
  document: {
    source: translated('`base64` as `file.file_data`, `text` and `content` as text. `url` and `file` are refused.'),
    title: translated('`file.filename`, or a line before the text.'),
    context: translated('A text before it.'),
    cache_control: CACHES,
    citations: refused('Chat cites nothing. `{"enabled": false}` is taken.'),
  },
  tool_use: {
    id: translated('`id`'),
    name: translated('`function.name`'),
    input: translated('`function.arguments`, as JSON text.'),
    cache_control: CACHES,
    caller: refused('Tools are called by the model alone. `{"type": "direct"}` is taken.'),
    toolset_name: refused('Chat has no sets of tools.'),
  },
  tool_result: {
    tool_use_id: translated('`tool_call_id`'),
    content: translated('Its text as `content`; what is not text follows in the user’s message.'),
    is_error: translated('The text begins with `Error: `.'),
    cache_control: CACHES,
    toolset_name: refused('Chat has no sets of tools.'),
  },
  thinking: {
    thinking: translated('`reasoning_content`'),
    signature: refused('Only its own vendor can read what it signed. An empty one is taken.'),
  },
}

export const TOOL_FIELDS: Readonly<Record<string, FieldFate>> = {
  name: translated('`function.name`'),
  description: translated('`function.description`'),
  input_schema: translated('`function.parameters`'),
  strict: translated('`function.strict`'),
  type: translated('`custom`, or none, is a function. Any other is refused: the model would not know it.'),
  cache_control: CACHES,
  eager_input_streaming: leftOut('Arguments come as the upstream streams them.'),
  input_examples: refused('Chat has no place for them; put them into the description.'),
  defer_loading: refused('Every tool is told with the request. `false` is taken.'),
  allowed_callers: refused('Tools are called by the model alone. `["direct"]` is taken.'),
}
