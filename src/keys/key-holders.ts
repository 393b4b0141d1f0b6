// §5: from a raw key to whom it speaks for. Asks the store on every request: a revoked key stops working at once.
import type { Caller } from '../core/caller.ts'
import { hashKey, isMintedForm } from './key.ts'
import type { KeyUse } from './key-use.ts'

/** What the look-up needs of the store. */
export interface HolderStore {
  findHolder(hash: string): Promise<Caller | undefined>
  operatorHashes(): Promise<Set<string>>
}

export type KeyHolders = Awaited<ReturnType<typeof keyHolders>>

export async function keyHolders(store: HolderStore, uses: KeyUse) {
  const operatorHashes = await store.operatorHashes()

  return {
    async find(raw: string): Promise<Caller | undefined> {
      const hash = hashKey(raw)
      if (!isMintedForm(raw) && !operatorHashes.has(hash)) return undefined // R5: refused without a database read
      const caller = await store.findHolder(hash)
      if (caller) uses.note(caller.key_id)
      return caller
    },
  }
}
