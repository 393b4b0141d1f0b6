// What is left of deleted bytes in a store's files: pieces of sixteen bytes, at whatever offset they lie.
import { existsSync, readFileSync } from 'node:fs'

const PIECE = 16

export const piecesOf = (bytes: Buffer): string[] =>
  Array.from({ length: Math.floor(bytes.length / PIECE) }, (_, n) =>
    bytes.toString('latin1', n * PIECE, (n + 1) * PIECE),
  )

/** How often one of these pieces lies in the database at this path or in its log. */
export function foundPieces(path: string, wanted: ReadonlySet<string>): number {
  // Few places begin as a piece does; to make a text of every other one would be nearly all of the work.
  const begins = new Uint8Array(2 ** 24)
  for (const piece of wanted) begins[startOf(Buffer.from(piece, 'latin1'), 0)] = 1
  let found = 0
  for (const file of [path, `${path}-wal`].filter(existsSync)) {
    const bytes = readFileSync(file)
    for (let at = 0; at + PIECE <= bytes.length; at++)
      if (begins[startOf(bytes, at)] === 1 && wanted.has(bytes.toString('latin1', at, at + PIECE))) found++
  }
  return found
}

/** Its first three bytes, as a number. */
const startOf = (bytes: Buffer, at: number) =>
  ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number)
