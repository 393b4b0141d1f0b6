// What an operator does about receipts of purge jobs: verifies one with the server's own secret, without a service.
import { systemClock } from '../core/clock.ts'
import { sealing } from '../core/sealing.ts'
import { isSigned, RECEIPT_PURPOSE } from '../purges/purge-receipt.ts'
import type { Config } from '../start/config.ts'
import { openStore } from '../start/open-store.ts'
import { assertStoreIn } from './operate.ts'

/** Whether the server of this store signed exactly this. */
export async function verifyReceipt(config: Config, receipt: unknown): Promise<boolean> {
  if (!config.database_url) assertStoreIn(config.data_dir)
  const { db, secret } = await openStore(config, systemClock)
  await db.close()
  return isSigned(receipt, (text) => sealing(secret).sign(RECEIPT_PURPOSE, text))
}
