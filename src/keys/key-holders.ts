// §5: from a raw key to whom it speaks for. Asks the store on every request: a revoked key stops working at once.
import type { Caller } from '../core/caller.ts'
import type { Clock } from '../core/clock.ts'
import type { Address } from '../core/ip-address.ts'
import { hashKey, isMintedForm } from './key.ts'
import { isFromAllowed } from './key-terms.ts'
import type { KeyUse } from './key-use.ts'

/** What the look-up needs of the store. */
export interface HolderStore {
  findHolder(hash: string, now: number): Promise<Caller | undefined>
  operatorHashes(): Promise<Set<string>>
}

export type KeyHolders = Awaited<ReturnType<typeof keyHolders>>

export async function keyHolders(store: HolderStore, uses: KeyUse, clock: Clock) {
  const operatorHashes = await store.operatorHashes()

  return {
    /** R63: `from` is asked only for a key that is bound to networks. From elsewhere, such a key is unknown. */
    async find(raw: string, from: () => Address | undefined): Promise<Caller | undefined> {
      const hash = hashKey(raw)
      if (!isMintedForm(raw) && !operatorHashes.has(hash)) return undefined // R5: refused without a database read
      const caller = await store.findHolder(hash, clock.now())
      if (!caller || !isFromAllowed(caller.allowed_cidrs, from)) return undefined
      uses.note(caller.key_id)
      return caller
    },
  }
}
