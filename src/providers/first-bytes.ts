// The beginning of an answer that nobody needs whole: what an upstream says of its own failure. Never more than so many
// bytes, and never for longer than whoever waits can spare.
import { GatheredParts } from '../core/gathered-parts.ts'
import type { ProviderAnswer } from './provider.ts'

type Read = Pick<ProviderAnswer, 'each' | 'cancel'>

export interface FirstBytes {
  bytes: Buffer
  /** The answer had no more than these. */
  is_whole: boolean
}

/** Rejects where the wire breaks. */
export function upTo(most_bytes: number, answer: Read): Promise<FirstBytes> {
  return gather(most_bytes, answer, new GatheredParts())
}

/** Whatever has come by then; the connection is let go of. */
export async function soonRead(most_bytes: number, within_ms: number, answer: Read): Promise<Buffer> {
  const parts = new GatheredParts()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, within_ms)
  })
  await Promise.race([gather(most_bytes, answer, parts).catch(() => {}), late])
  clearTimeout(timer)
  answer.cancel()
  return Buffer.concat(parts.parts()).subarray(0, most_bytes)
}

const ENOUGH = new Error('enough was read')

async function gather(most_bytes: number, answer: Read, parts: GatheredParts): Promise<FirstBytes> {
  let is_whole = true
  await answer
    .each((part) => {
      parts.add(part)
      if (parts.bytes <= most_bytes) return
      is_whole = false
      throw ENOUGH
    })
    .catch((error) => {
      if (error !== ENOUGH) throw error
    })
  return { bytes: Buffer.concat(parts.parts()).subarray(0, most_bytes), is_whole }
}
