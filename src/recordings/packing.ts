// Recordings that are written together are compressed together: one call of a few kilobytes costs more to compress by
// itself than all else that is done for it, and calls of one agent say most of the same again.
import { brotliCompress, brotliDecompress, constants } from 'node:zlib'
import { PACK_MAX_BYTES } from './recording.ts'
import type { Tape } from './tape.ts'

/** One that waits to be written. */
export interface Waiting {
  tape: Tape
  at_ms: number
  /** How often it could not be written. */
  failures: number
}

export const bytesOf = ({ tape }: Waiting) => tape.request.length + tape.answer_bytes

/** The first of a queue, as many as go into a pack, and one at least. */
export function firstPack(queue: Waiting[]): Waiting[] {
  let bytes = 0
  const past = queue.findIndex((one, at) => {
    bytes += bytesOf(one)
    return at > 0 && bytes > PACK_MAX_BYTES
  })
  return queue.splice(0, past < 0 ? queue.length : past)
}

/** Request and answer of each, one behind the other. */
export const plainOf = (waiting: readonly Waiting[]): Buffer =>
  Buffer.concat(waiting.flatMap(({ tape }) => [tape.request, ...tape.answer()]))

/** The fastest there is: half a pack's time goes into this, and no other setting halves its size again. */
const QUICKLY = {
  params: { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT },
}

/** Both in the threads that Node has for it, so that the event loop goes on. */
export const packed = (plain: Uint8Array): Promise<Buffer> =>
  new Promise((resolve, reject) =>
    brotliCompress(plain, QUICKLY, (error, bytes) => (error ? reject(error) : resolve(bytes))),
  )

export const unpacked = (bytes: Uint8Array, plain_bytes: number): Promise<Buffer> =>
  new Promise((resolve, reject) =>
    brotliDecompress(bytes, { maxOutputLength: Math.max(1, plain_bytes) }, (error, plain) =>
      error ? reject(error) : resolve(plain),
    ),
  )
