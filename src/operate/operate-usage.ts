// What an operator does about usage that cannot be added up (R78): lists it, and lets it be tried again.

import { systemClock } from '../core/clock.ts'
import type { Config } from '../start/config.ts'
import { openStore } from '../start/open-store.ts'
import type { Db } from '../storage/db.ts'
import { type SetAside, usageQuarantine } from '../usage/usage-quarantine-store.ts'
import { assertStoreIn } from './operate.ts'

/** The oldest first, a thousand at most; of one project, or of all. */
export const listSetAside = (config: Config, project_id: string | undefined): Promise<SetAside[]> =>
  onStore(config, (db) => usageQuarantine(db).list(project_id))

/** How many wait again. The next roll-up of a running server tries them; what is as bad as before is set aside anew. */
export const retrySetAside = (config: Config, project_id: string | undefined): Promise<number> =>
  onStore(config, (db) => usageQuarantine(db).retry(project_id))

async function onStore<T>(config: Config, work: (db: Db) => Promise<T>): Promise<T> {
  if (!config.database_url) assertStoreIn(config.data_dir)
  const { db } = await openStore(config, systemClock)
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}
