// Packs that were just read, unpacked: whoever reads one recording after the other, as a replay run does, finds a
// hundred of them in one pack. What is in a pack never changes (what is cut is written anew, under another id), so
// whoever has found a recording may read it here. Held for a moment, and few of them.
import { SECOND_MS } from '../core/clock.ts'
import { PACK_MAX_BYTES } from './recording.ts'

const PACKS_MAX = 4 // a mebibyte
const HELD_MS = 2 * SECOND_MS

type Unpacked = Promise<Buffer | undefined>

export function unpackedPacks() {
  const held = new Map<string, Unpacked>()
  let is_timed = false

  function hold(pack_id: string, plain: Unpacked): void {
    held.set(pack_id, plain)
    const [oldest] = held.keys()
    if (held.size > PACKS_MAX && oldest !== undefined) held.delete(oldest)
    if (is_timed) return
    is_timed = true
    setTimeout(forget, HELD_MS).unref()
  }

  function forget(): void {
    is_timed = false
    held.clear()
  }

  return {
    /** `unpack` is asked where it is not at hand. */
    plainOf(pack_id: string, unpack: () => Unpacked): Unpacked {
      const known = held.get(pack_id)
      if (known) return known
      const plain = unpack()
      hold(pack_id, plain)
      const drop = () => {
        if (held.get(pack_id) === plain) held.delete(pack_id)
      }
      // A large one is a pack by itself: nobody else reads it.
      plain.then((bytes) => (bytes && bytes.length <= PACK_MAX_BYTES ? undefined : drop()), drop)
      return plain
    },
  }
}
