// Known bugs of providers that are changed while calls run.
import { Socket } from 'node:net'
import type { OpenDb, Sql } from '../../src/storage/db.ts'

/** A process that never hears of a change: the number by which it would learn of one stands still. */
export function deafToProviders(db: OpenDb): OpenDb {
  let known: unknown[] | undefined
  return {
    ...db,
    async rows<Row>(statement: Sql) {
      if (!/^\s*SELECT revision FROM operator_provider_revision/.test(statement.text[0] ?? ''))
        return db.rows<Row>(statement)
      known ??= await db.rows(statement)
      return known as Row[]
    },
  }
}

/** Whoever takes over changed providers closes every connection to an upstream, in use or not. */
export function swapCloses(db: OpenDb): OpenDb {
  const stores = [process.env.DATABASE_URL, process.env.REDIS_URL].flatMap((url) => (url ? new URL(url).port : []))
  const isUpstream = (handle: unknown): handle is Socket =>
    handle instanceof Socket &&
    (handle as Socket & { server?: unknown }).server == null &&
    handle.remotePort !== undefined &&
    !stores.includes(String(handle.remotePort))
  return {
    ...db,
    async rows<Row>(statement: Sql) {
      const rows = await db.rows<Row>(statement)
      if (/FROM operator_provider ORDER BY sequence/.test(statement.text[0] ?? ''))
        for (const handle of (process as unknown as { _getActiveHandles(): unknown[] })._getActiveHandles())
          if (isUpstream(handle)) handle.destroy(new Error('closed by the swap'))
      return rows
    },
  }
}
