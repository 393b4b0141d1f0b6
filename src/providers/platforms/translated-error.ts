// An upstream's error in the words of another protocol: read in bounds, and free of what was sent to prove who asks.
import { BUDGETS, smallJsonOrNone } from '../../core/foreign.ts'
import { upTo } from '../first-bytes.ts'
import type { ProviderAnswer } from '../provider.ts'

export interface Translation {
  status: number
  /** Undefined where what it said is in that protocol already. */
  body(said: unknown): object | undefined
  /** Never told on, whatever the upstream says of them. */
  secrets: readonly string[]
}

export function withError(answer: ProviderAnswer, { status, body, secrets }: Translation): ProviderAnswer {
  const whole = async () => {
    const { bytes } = await upTo(BUDGETS.envelope.bytes, answer)
    const translated = body(smallJsonOrNone(BUDGETS.envelope, bytes))
    return cleared(translated ? Buffer.from(JSON.stringify(translated)) : bytes, secrets)
  }
  return { ...answer, status, content_type: 'application/json', whole, each: async (take) => take(await whole()) }
}

const LEAST = 4 // what is shorter stands in any text

function cleared(bytes: Buffer, secrets: readonly string[]): Buffer {
  const found = secrets.filter((secret) => secret.length >= LEAST && bytes.includes(secret))
  if (found.length === 0) return bytes
  return Buffer.from(found.reduce((text, secret) => text.replaceAll(secret, '[removed]'), bytes.toString()))
}
