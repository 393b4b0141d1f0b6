// Whether bytes that came in parts are text: UTF-8 without NUL characters.
import { isUtf8 } from 'node:buffer'

/** By native code, part by part: 32 MiB of them take a few milliseconds. A character may be cut between two parts. */
export function isText(parts: readonly Buffer[]): boolean {
  let begun = Buffer.alloc(0)
  for (const part of parts) {
    const joined = begun.length > 0 ? Buffer.concat([begun, part]) : part
    const end = endOfCharacters(joined)
    if (joined.includes(0) || !isUtf8(joined.subarray(0, end))) return false
    begun = Buffer.from(joined.subarray(end))
  }
  return begun.length === 0
}

const CUT_MOST = 3 // bytes of a character that is not whole

/** Where the last character begins that is not whole, or the end. */
function endOfCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(CUT_MOST, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number
    if (byte < 0x80) break
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? bytes.length - back : bytes.length
  }
  return bytes.length
}
