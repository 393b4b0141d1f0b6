// What spans are called and what they tell. The names of generative AI are those of the OpenTelemetry conventions,
// which are still being worked on: they stand here, as the conventions advise. Never a word of a prompt or an answer.

export const SPAN = {
  method: 'http.request.method',
  route: 'http.route',
  status: 'http.response.status_code',
  error: 'error.type',
  server_address: 'server.address',
  server_port: 'server.port',
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  request_model: 'gen_ai.request.model',
  response_model: 'gen_ai.response.model',
  conversation: 'gen_ai.conversation.id',
  agent: 'gen_ai.agent.id',
  stream: 'gen_ai.request.stream',
  input_tokens: 'gen_ai.usage.input_tokens',
  output_tokens: 'gen_ai.usage.output_tokens',
  cached_tokens: 'gen_ai.usage.cache_read.input_tokens',
  written_tokens: 'gen_ai.usage.cache_creation.input_tokens',
  reasoning_tokens: 'gen_ai.usage.reasoning.output_tokens',
  /** In seconds. */
  first_chunk: 'gen_ai.response.time_to_first_chunk',
} as const

/** Our own. */
export const OWN = {
  request_id: 'switchyard.request_id',
  trace_id: 'switchyard.trace_id',
  project_id: 'switchyard.project_id',
  key_id: 'switchyard.key_id',
  refusal: 'switchyard.refusal',
  outcome: 'switchyard.outcome',
  profile: 'switchyard.profile',
  mode: 'switchyard.mode',
  region: 'switchyard.region',
  admission: 'switchyard.admission',
  fallback_used: 'switchyard.fallback_used',
  attempts: 'switchyard.attempts',
  tokens_estimated: 'switchyard.tokens_estimated',
  charged_micros: 'switchyard.charged_micros',
  direct_cost_micros: 'switchyard.direct_cost_micros',
  target: 'switchyard.target',
  attempt: 'switchyard.attempt',
} as const

const OPERATIONS: Readonly<Record<string, string>> = {
  chat: 'chat',
  responses: 'chat',
  messages: 'chat',
  completions: 'text_completion',
}

/** Chat, responses and messages are one thing to the conventions; what they have no word for has its own. */
export const operationOf = (kind: string): string => OPERATIONS[kind] ?? kind
