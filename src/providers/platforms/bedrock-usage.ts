// What Bedrock itself counted, in headers of an answer and at the end of a stream, as Anthropic's protocol tells usage.
type CountOf = (name: 'input' | 'output' | 'cacheReadInput' | 'cacheWriteInput') => unknown

export function usageOf(countOf: CountOf): Record<string, number> | undefined {
  const input_tokens = whole(countOf('input'))
  const output_tokens = whole(countOf('output'))
  if (input_tokens === undefined || output_tokens === undefined) return undefined
  return {
    input_tokens,
    output_tokens,
    cache_read_input_tokens: whole(countOf('cacheReadInput')) ?? 0,
    cache_creation_input_tokens: whole(countOf('cacheWriteInput')) ?? 0,
  }
}

const HEADERS = {
  input: 'x-amzn-bedrock-input-token-count',
  output: 'x-amzn-bedrock-output-token-count',
  cacheReadInput: 'x-amzn-bedrock-cache-read-input-token-count',
  cacheWriteInput: 'x-amzn-bedrock-cache-write-input-token-count',
}

export const usageIn = (heard: ReadonlyMap<string, string> | undefined) => usageOf((name) => heard?.get(HEADERS[name]))

function whole(value: unknown): number | undefined {
  const count = typeof value === 'string' && /^\d{1,12}$/.test(value) ? Number(value) : value
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : undefined
}
