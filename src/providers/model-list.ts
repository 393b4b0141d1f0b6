// What an upstream says it serves (R52), which is also the cheapest way to see whether it takes a credential.
import { BUDGETS, jsonWithin } from '../core/foreign.ts'
import { GatheredParts } from '../core/gathered-parts.ts'
import { type ProviderAnswer, UpstreamError } from './provider.ts'

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
  const ids = await idsIn(await atMost(answer, BUDGETS.models.bytes))
  return ids ? { kind: 'models', ids } : { kind: 'refused', status }
}

/** A customer's cluster may answer with anything, so it gets no say in how much of it is read. */
async function atMost(answer: ProviderAnswer, max_bytes: number): Promise<Buffer> {
  const parts = new GatheredParts()
  await answer.each((part) => {
    parts.add(part)
    if (parts.bytes > max_bytes) throw new UpstreamError('too_large')
  })
  return Buffer.concat(parts.take())
}

async function idsIn(bytes: Buffer): Promise<string[] | undefined> {
  try {
    const { data } = (await jsonWithin(BUDGETS.models, bytes)) as { data: { id: unknown }[] }
    const ids = data.slice(0, MODELS_MAX).map(({ id }) => id)
    const readable = ids.filter((id) => typeof id === 'string' && id !== '' && id.length <= ID_MAX_LENGTH)
    return [...new Set(readable as string[])]
  } catch {
    return undefined
  }
}
