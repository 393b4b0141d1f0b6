// What an upstream says it serves (R52), which is also the cheapest way to see whether it takes a credential.
import { jsonIn } from '../core/json-bytes.ts'
import { type ProviderAnswer, UpstreamError } from './provider.ts'

const LIST_MAX_BYTES = 4 * 1024 * 1024
const MODELS_MAX = 10_000
const ID_MAX_LENGTH = 256

export type ModelList =
  | { kind: 'models'; ids: string[] }
  /** It answered, but not with a list: 401 and 403 say that the credential is not taken. */
  | { kind: 'refused'; status: number }

export const LISTING_TIMEOUTS = { first_byte_ms: 10_000, idle_ms: 10_000 }

export async function readModelList(answer: ProviderAnswer): Promise<ModelList> {
  const { status } = answer
  if (status !== 200) {
    answer.cancel()
    return { kind: 'refused', status }
  }
  const ids = idsIn(await atMost(answer, LIST_MAX_BYTES))
  return ids ? { kind: 'models', ids } : { kind: 'refused', status }
}

/** A customer's cluster may answer with anything, so it gets no say in how much of it is read. */
async function atMost(answer: ProviderAnswer, max_bytes: number): Promise<Buffer> {
  const parts: Buffer[] = []
  let bytes = 0
  await answer.each((part) => {
    bytes += part.length
    if (bytes > max_bytes) throw new UpstreamError('too_large')
    parts.push(part)
  })
  return Buffer.concat(parts)
}

function idsIn(bytes: Buffer): string[] | undefined {
  try {
    const { data } = jsonIn(bytes) as { data: { id: unknown }[] }
    const ids = data.slice(0, MODELS_MAX).map(({ id }) => id)
    const readable = ids.filter((id) => typeof id === 'string' && id !== '' && id.length <= ID_MAX_LENGTH)
    return [...new Set(readable as string[])]
  } catch {
    return undefined
  }
}
