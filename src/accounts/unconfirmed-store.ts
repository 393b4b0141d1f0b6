// An address belongs to whoever reads its mail. Until somebody has shown that they do, an account may be a stranger's,
// who opened it with another's address and prepared it: the owner of the address gets a new one, and nothing of what
// the stranger left behind.
import type { Db } from '../storage/db.ts'
import { accountStore, type PersonWithPassword } from './account-store.ts'
import { signInStore } from './sign-in-store.ts'
import { tokenStore } from './token-store.ts'

/** An account without a password was made by the operator, or by nobody who could have been in it. */
export const isUnverifiedClaim = ({ verified_at, password_hash }: PersonWithPassword) =>
  verified_at === null && password_hash !== null

/** From now on nobody is in it, or gets into it again. */
export async function takeAddressFrom(tx: Db, { id }: PersonWithPassword): Promise<void> {
  await accountStore(tx).release(id)
  await signInStore(tx).endAll(id)
  await tokenStore(tx).revokeAll(id)
}
