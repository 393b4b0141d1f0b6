// Packs that were just read, unpacked: whoever reads one recording after the other, as a replay run does, finds a
// hundred of them in one pack. What is in a pack never changes (what is cut is written anew, under another id), so
// whoever has found a recording may read it here. Held for a moment, and few of them.
import { SECOND_MS } from '../core/clock.ts'
import { PACK_MAX_BYTES } from './recording.ts'

const PACKS_MAX = 4 // a mebibyte
export const HELD_MS = 30 * SECOND_MS // beside live calls, a run reads one a second

type Unpacked = Promise<Buffer | undefined>

interface Held {
  plain: Unpacked
  timer: NodeJS.Timeout
}

export function unpackedPacks() {
  const held = new Map<string, Held>()

  function drop(pack_id: string, plain = held.get(pack_id)?.plain): void {
    const one = held.get(pack_id)
    if (!one || one.plain !== plain) return
    clearTimeout(one.timer) // which would keep the bytes
    held.delete(pack_id)
  }

  function hold(pack_id: string, plain: Unpacked): void {
    held.set(pack_id, { plain, timer: setTimeout(drop, HELD_MS, pack_id, plain).unref() })
    const [oldest] = held.keys()
    if (held.size > PACKS_MAX && oldest !== undefined) drop(oldest)
  }

  return {
    /** `unpack` is asked where it is not at hand. */
    plainOf(pack_id: string, unpack: () => Unpacked): Unpacked {
      const known = held.get(pack_id)
      if (known) return known.plain
      const plain = unpack()
      hold(pack_id, plain)
      const forget = () => drop(pack_id, plain)
      // A large one is a pack by itself: nobody else reads it.
      plain.then((bytes) => (bytes && bytes.length <= PACK_MAX_BYTES ? undefined : forget()), forget)
      return plain
    },
  }
}
