// A store with recordings in a folder of its own, for whoever cuts packs and is killed: the embedded store, and large
// packs in files beside it. `around` is told before and after everything that is written.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileContents } from '../../src/contents/file-content-store.ts'
import { contentRoom } from '../../src/contents/kept-content-store.ts'
import { HOUR_MS, systemClock } from '../../src/core/clock.ts'
import { sealing } from '../../src/core/sealing.ts'
import { keptRecordings } from '../../src/recordings/kept-recording-store.ts'
import { noConfigFile } from '../../src/start/config-file.ts'
import { keptQuotas } from '../../src/start/kept-quotas.ts'
import { type Db, isRead, type OpenDb, type Tx } from '../../src/storage/db.ts'
import { migrate } from '../../src/storage/migrate.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'

const SECRET = 'the secret of this store, which is long enough'
const FILES = 'contents'

export interface Opening {
  /** Told before and after everything that is written. */
  step?: () => void
  /** A known bug: each statement of a transaction commits by itself. */
  is_torn?: boolean
}

export async function openCutting(folder: string, { step = () => {}, is_torn = false }: Opening = {}) {
  let ahead_ms = 0
  const clock = { now: () => systemClock.now() + ahead_ms }
  const opened = openSqlite(join(folder, 'store.db'))
  await migrate(opened, clock)
  const db = stepped(opened, step, is_torn)
  const seals = sealing(SECRET)
  const files = fileContents(join(folder, FILES))
  const around = async <T>(work: () => Promise<T>): Promise<T> => {
    step()
    const result = await work()
    step()
    return result
  }
  const places = {
    place: 'files' as const,
    at: {
      files: {
        write: (...of: Parameters<typeof files.write>) => around(() => files.write(...of)),
        read: files.read,
        erase: (content_id: string) => around(() => files.erase(content_id)),
      },
    },
  }
  const room = contentRoom({ db, clock, seals, places })
  const { recordings: quota } = keptQuotas(db, noConfigFile().quotas)
  const settings = { days: () => 30, isAllowed: () => true, onDrop: () => {}, onFailure: () => {} }
  const recordings = keptRecordings({ db, clock, seals, contents: room.of('recordings'), quota, ...settings })
  return {
    ...{ db, quota, recordings, files: () => readdirSync(join(folder, FILES)).sort() },
    /** An hour later: whoever wrote is taken for dead. */
    async sweepLater(): Promise<void> {
      ahead_ms += HOUR_MS
      await room.sweep(db)
    },
  }
}

function stepped(db: OpenDb, step: () => void, is_torn: boolean): OpenDb {
  const rowsOf =
    (on: Db): Db['rows'] =>
    (statement) => {
      if (!isRead(statement)) step()
      return on.rows(statement)
    }
  const torn: Tx = {
    rows: rowsOf(db),
    transaction: (work) => work(torn),
    tryLock: async () => true,
    last: async (statement) => void (await torn.rows(statement)),
  }
  return {
    ...db,
    rows: rowsOf(db),
    async transaction(work, writing) {
      const result = is_torn
        ? await work(torn)
        : await db.transaction((tx) => {
            const last: Tx['last'] = async (statement) => void (await inner.rows(statement))
            const inner: Tx = { ...tx, last, rows: rowsOf(tx), transaction: (nested) => nested(inner) }
            return work(inner)
          }, writing)
      step()
      return result
    },
  }
}
