// §5: from a raw key to whom it speaks for. A revoked key stops working at once: a caller is remembered only where the
// store tells of every change to what it is made of (decision 0143), and asked for on every request otherwise.
import type { Caller } from '../core/caller.ts'
import type { Clock } from '../core/clock.ts'
import { randomBase62 } from '../core/ids.ts'
import type { Address } from '../core/ip-address.ts'
import type { MaybePromise } from '../core/maybe-promise.ts'
import { hashKey, isMintedForm } from './key.ts'
import { isFromAllowed } from './key-terms.ts'
import type { KeyUse } from './key-use.ts'

const REMEMBERED_MAX = 20_000 // some 15 MB

/** What the look-up needs of the store. */
export interface HolderStore {
  findHolder(hash: string, now: number): Promise<Caller | undefined>
  findHolderById(project_id: string, key_id: string, now: number): Promise<Caller | undefined>
  operatorHashes(): Promise<Set<string>>
}

export interface HolderNeeds {
  store: HolderStore
  uses: Pick<KeyUse, 'note'>
  clock: Clock
  /** Has it told of every change to what callers are made of, before whoever made it hears of it. */
  watch?: ((changed: () => void) => void) | undefined
}

export type KeyHolders = Awaited<ReturnType<typeof keyHolders>>

export async function keyHolders({ store, uses, clock, watch }: HolderNeeds) {
  let operatorHashes = await store.operatorHashes()
  const remembered = new Map<string, Caller>()
  /** Secrets of the moment, by which this process speaks for a key. */
  const lent = new Map<string, { project_id: string; key_id: string }>()
  let changes = 0
  watch?.(() => {
    changes++
    remembered.clear()
  })

  async function ask(hash: string): Promise<Caller | undefined> {
    const before = changes
    const caller = await store.findHolder(hash, clock.now())
    // What was read before a change may be older than it.
    if (caller && watch && before === changes) {
      if (remembered.size >= REMEMBERED_MAX) remembered.clear()
      remembered.set(hash, Object.freeze(caller))
    }
    return caller
  }

  function entering(caller: Caller | undefined, from: () => Address | undefined): Caller | undefined {
    if (!caller || !isFromAllowed(caller.allowed_cidrs, from)) return undefined
    uses.note(caller.key_id)
    return caller
  }

  return {
    /** Keys of other forms that were imported since. */
    async reread(): Promise<void> {
      operatorHashes = await store.operatorHashes()
    },

    /** R63: `from` is asked only for a key that is bound to networks. From elsewhere, such a key is unknown. */
    find(raw: string, from: () => Address | undefined): MaybePromise<Caller | undefined> {
      const borrowed = lent.size > 0 ? lent.get(raw) : undefined
      if (borrowed) return store.findHolderById(borrowed.project_id, borrowed.key_id, clock.now())
      const hash = hashKey(raw)
      const known = remembered.get(hash)
      if (known && clock.now() < (known.works_until ?? Number.POSITIVE_INFINITY)) return entering(known, from)
      if (!isMintedForm(raw) && !operatorHashes.has(hash)) return undefined // R5: refused without a database read
      return ask(hash).then((caller) => entering(caller, from))
    },

    /** For work that a key asked for and does not wait for: good for as long as the key itself, and until its end. */
    lend(project_id: string, key_id: string): { secret: string; end(): void } {
      const secret = `lent_${randomBase62(43)}`
      lent.set(secret, { project_id, key_id })
      return { secret, end: () => void lent.delete(secret) }
    },
  }
}
