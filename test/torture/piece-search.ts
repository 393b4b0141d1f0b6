// Finds any 16-character piece of many thousand secrets in files of any size, in one pass over the bytes.

export const PIECE_LENGTH = 16

export interface Finding {
  piece: string
  at: number
}

export type PieceSearch = ReturnType<typeof pieceSearch>

const FILTER_BITS = 24
const BASE = 0x9e3779b1

/**
 * A rolling hash of the last 16 bytes is looked up in a bitmap; only where that says "perhaps" is the text itself
 * compared.
 */
export function pieceSearch(secrets: Iterable<string>) {
  const pieces = new Set<string>()
  const filter = new Uint8Array(2 ** (FILTER_BITS - 3))
  for (const secret of secrets) {
    if (secret.length < PIECE_LENGTH) throw new Error(`a secret of ${secret.length} characters has no piece to find`)
    for (let at = 0; at + PIECE_LENGTH <= secret.length; at++) pieces.add(secret.slice(at, at + PIECE_LENGTH))
  }
  for (const piece of pieces) {
    let rolled = 0
    for (let at = 0; at < PIECE_LENGTH; at++) rolled = roll(rolled, piece.charCodeAt(at), 0)
    const slot = slotOf(rolled)
    filter[slot >>> 3] = (filter[slot >>> 3] as number) | (1 << (slot & 7))
  }

  return {
    pieces: pieces.size,

    find(bytes: Buffer): Finding[] {
      const findings: Finding[] = []
      let rolled = 0
      for (let end = 0; end < bytes.length; end++) {
        const leaving = end >= PIECE_LENGTH ? (bytes[end - PIECE_LENGTH] as number) : 0
        rolled = roll(rolled, bytes[end] as number, leaving)
        const slot = slotOf(rolled)
        if (((filter[slot >>> 3] as number) & (1 << (slot & 7))) === 0 || end < PIECE_LENGTH - 1) continue
        const at = end - PIECE_LENGTH + 1
        const piece = bytes.toString('latin1', at, end + 1)
        if (pieces.has(piece)) findings.push({ piece, at })
      }
      return findings
    },
  }
}

const slotOf = (rolled: number) => rolled >>> (32 - FILTER_BITS)

// BASE to the power of the length: what the byte that leaves the window has become by then.
const LEAVING = Array.from({ length: PIECE_LENGTH }).reduce<number>((power) => Math.imul(power, BASE), 1)

const roll = (rolled: number, entering: number, leaving: number) =>
  (Math.imul(rolled, BASE) + entering - Math.imul(leaving, LEAVING)) | 0
