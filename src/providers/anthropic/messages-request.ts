// A call of Messages on its way to an upstream that speaks them: the client's bytes, path and query (R81).
import type { ProviderCall } from '../provider.ts'
import type { UpstreamRequest } from '../upstream.ts'

export const messagesRequest = (call: ProviderCall, headers: UpstreamRequest['headers']): UpstreamRequest => ({
  method: 'POST',
  path: `/messages${call.counts_only ? '/count_tokens' : ''}${call.query ?? ''}`,
  headers,
  body: call.body,
  timeouts: call.timeouts,
})
