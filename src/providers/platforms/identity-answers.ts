// What is asked of a vendor's service for keys or tokens: over our own wire, within a time and a size.
import { open } from 'node:fs/promises'
import { BUDGETS, smallJsonOrNone } from '../../core/foreign.ts'
import { upTo } from '../first-bytes.ts'
import type { Upstream, UpstreamRequest } from '../upstream.ts'

/** Nothing is lent: who asks is not who it says, or may not have it. The text is for anybody: no secrets, no paths. */
export class IdentityRefused extends Error {
  override readonly name = 'IdentityRefused'
}

/** Whoever lends could not be asked now. */
export class IdentityAway extends Error {
  override readonly name = 'IdentityAway'
}

export type PoolFor = (base_url: string) => Upstream

export interface Asked extends Pick<UpstreamRequest, 'method' | 'headers'> {
  url: string
  form?: Readonly<Record<string, string>>
  within_ms?: number
}

const WITHIN_MS = 10_000

/** Redirects are never followed, and count as refusals. */
export async function askedFor({ url, method, headers, form, within_ms = WITHIN_MS }: Asked, poolFor: PoolFor) {
  const { origin, pathname, search } = new URL(url)
  const timeouts = { first_byte_ms: within_ms, idle_ms: within_ms, total_ms: within_ms }
  const typed = form ? { ...headers, 'content-type': 'application/x-www-form-urlencoded' } : headers
  const body = form ? { body: Buffer.from(new URLSearchParams(form).toString()) } : {}
  const request: UpstreamRequest = { method, path: `${pathname}${search}`, headers: typed, timeouts, ...body }
  const answer = await poolFor(origin).send(request, AbortSignal.timeout(within_ms))
  const { bytes, is_whole } = await upTo(BUDGETS.envelope.bytes, answer)
  if (!is_whole) throw new IdentityAway(`${origin} answers with more than ${BUDGETS.envelope.bytes} bytes`)
  if (answer.status >= 500 || answer.status === 429) throw new IdentityAway(`${origin} answers ${answer.status}`)
  return { status: answer.status, bytes, json: (smallJsonOrNone(BUDGETS.envelope, bytes) ?? {}) as object }
}

const FILE_MAX_BYTES = 64 * 1024

/** Read anew each time: whoever wrote it renews it there. */
export async function tokenIn(path: string): Promise<string> {
  try {
    const file = await open(path)
    try {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(FILE_MAX_BYTES), 0, FILE_MAX_BYTES, 0)
      const token = buffer.toString('utf8', 0, bytesRead).trim()
      if (!/^[!-~]+( [!-~]+)?$/.test(token)) throw new IdentityRefused('the file of the token holds none')
      return token
    } finally {
      await file.close()
    }
  } catch (error) {
    if (error instanceof IdentityRefused) throw error
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    throw new IdentityRefused(`the file of the token cannot be read: ${code}`)
  }
}
