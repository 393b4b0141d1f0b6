// Copies of the store while it is in use, and their way back. Neither holds the server secret: whoever finds a backup
// must not be able to open what is sealed in it.
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  linkSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { randomBase62 } from '../core/ids.ts'
import type { Config } from '../start/config.ts'
import { contentFolder } from '../start/open-contents.ts'
import { checkIntegrity, flushToDisk, lockFolder, openDataFolder, storeFile } from '../storage/data-folder.ts'
import { type Db, sql } from '../storage/db.ts'
import { openPostgres } from '../storage/postgres.ts'
import { bringContents } from './backup-contents.ts'
import { assertNothingLeft, piecesOf } from './backup-leftovers.ts'
import { assertNotServed, assertStoreIn, OperationError } from './operate.ts'
import { type Environment, runTool } from './postgres-tools.ts'

const PRIVATE = 0o600
const BUSY_TIMEOUT_MS = 5_000

/** Writes the whole store to `file`, as it is at one moment, while servers go on. Returns the size in bytes. */
export async function backUp(config: Config, file: string, force: boolean, environment: Environment): Promise<number> {
  if (!existsSync(dirname(resolve(file)))) throw new OperationError(`There is no folder ${dirname(file)}.`)
  if (!force && existsSync(file)) throw new OperationError(`${file} exists. Give --force to replace it.`)
  const { database_url: url, data_dir } = config
  if (!url) assertStoreIn(data_dir)
  await writeBeside(file, (partial) => (url ? dump(url, partial, environment) : copyStore(data_dir, partial)))
  return statSync(file).size
}

/** Puts the store of a backup in the place of the present one. Returns where the present one was kept, if it was. */
export async function restore(
  config: Config,
  file: string,
  environment: Environment,
): Promise<{ kept?: string | undefined }> {
  const { database_url: url, data_dir } = config
  if (url) {
    await load(url, file, environment)
    return {}
  }
  openDataFolder(data_dir)
  const { unlock } = lockFolder(data_dir)
  try {
    return await replaceStore(data_dir, file)
  } finally {
    unlock()
  }
}

/** Nobody ever sees half a file under the name that was asked for, and nobody but its owner can read it. */
async function writeBeside(file: string, write: (partial: string) => Promise<void> | void): Promise<void> {
  const partial = join(dirname(file), `.${basename(file)}.${randomBase62(8)}`)
  try {
    closeSync(openSync(partial, 'wx', PRIVATE))
    await write(partial)
    flushToDisk(partial)
    renameSync(partial, file)
    flushToDisk(dirname(file))
  } finally {
    rmSync(partial, { force: true })
  }
}

function copyStore(dir: string, partial: string): void {
  const connection = new DatabaseSync(storeFile(dir), { timeout: BUSY_TIMEOUT_MS })
  try {
    // Not a prepared statement: the driver would not let go of the store before one is collected.
    connection.exec(`VACUUM INTO '${partial.replaceAll("'", "''")}'`)
  } finally {
    connection.close()
  }
  bringContents(partial, contentFolder(dir))
}

async function replaceStore(dir: string, file: string): Promise<{ kept?: string | undefined }> {
  if (existsSync(`${file}-wal`) && statSync(`${file}-wal`).size > 0)
    throw new OperationError(`${file} is a store in use, with part of it in ${file}-wal. Restore a backup of it.`)
  const store = storeFile(dir)
  let kept: string | undefined
  await writeBeside(store, (partial) => {
    copyFileSync(file, partial)
    chmodSync(partial, PRIVATE) // copying brought the backup's own mode along
    assertBackup(partial, file)
    kept = setAside(store, file)
  })
  return { kept }
}

/** Checks the copy, not the original: what was checked is what will be used. */
function assertBackup(copy: string, file: string): void {
  try {
    const connection = new DatabaseSync(copy)
    try {
      connection.exec('PRAGMA journal_mode = DELETE') // whatever it was before, it is one file now
      const marks = connection.prepare(`
        SELECT (SELECT count(*) FROM schema_migration) AS migrations, (SELECT count(*) FROM api_key) AS keys, value
        FROM setting WHERE name = 'secret_fingerprint'`)
      if (marks.all().length === 0) throw new Error('it has no secret fingerprint')
    } finally {
      connection.close()
    }
    checkIntegrity(copy)
  } catch (cause) {
    const reason = (cause as Error).message.replaceAll(copy, file).replace(/\.$/, '')
    throw new OperationError(`${file} is not a sound backup of a Switchyard store: ${reason}. Nothing was changed.`, {
      cause,
    })
  }
}

/** Keeps the present store under another name, and leaves no journal of it that the new one could be mixed with. */
function setAside(store: string, restored: string): string | undefined {
  if (!existsSync(store)) return undefined
  try {
    const connection = new DatabaseSync(store, { timeout: BUSY_TIMEOUT_MS })
    connection.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    connection.close()
  } catch {
    // A store too damaged to be opened is a good reason to restore: it is kept as it is.
  }
  const kept = freeName(`${store}.before-restore`, restored)
  rmSync(kept, { force: true })
  linkSync(store, kept)
  for (const journal of [`${store}-wal`, `${store}-shm`]) rmSync(journal, { force: true })
  return kept
}

/** What an earlier restore kept stays, but for what is being restored: that one and the present store change places. */
function freeName(name: string, restored: string): string {
  let free = name
  for (let n = 2; existsSync(free) && realpathSync(free) !== realpathSync(restored); n++) free = `${name}-${n}`
  return free
}

async function dump(url: string, partial: string, environment: Environment): Promise<void> {
  const schema = await onDatabase(url, async (db) => {
    const [row] = await db.rows<{ store: string | null }>(sql`SELECT to_regclass('schema_migration')::text AS store`)
    if (!row?.store) throw new OperationError('There is no Switchyard store in the database of DATABASE_URL.')
    return schemaOf(db)
  })
  const args = ['--format=custom', `--schema="${schema}"`, `--file=${partial}`]
  await runTool('pg_dump', args, url, environment)
}

/** All or nothing: pg_restore works in one transaction, and touches only the schema that is ours. */
async function load(url: string, file: string, environment: Environment): Promise<void> {
  const { schema, pieces } = await onDatabase(url, async (db) => {
    await assertNotServed(db)
    const schema = await schemaOf(db)
    return { schema, pieces: await piecesOf(db, schema) }
  })
  const contents = await runTool('pg_restore', ['--list', file], undefined, environment)
  if (!contents.includes(` TABLE DATA ${schema} schema_migration `))
    throw new OperationError(`${file} holds no Switchyard store of the schema '${schema}'. Nothing was changed.`)
  assertNothingLeft(pieces, contents, schema, file)
  const args = ['--clean', '--if-exists', '--single-transaction', '--no-owner', '--no-privileges']
  await runTool('pg_restore', [...args, `--schema=${schema}`, file], url, environment)
}

async function onDatabase<T>(url: string, work: (db: Db) => Promise<T>): Promise<T> {
  const db = openPostgres(url)
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

async function schemaOf(db: Db): Promise<string> {
  const [row] = await db.rows<{ schema: string | null }>(sql`SELECT current_schema() AS schema`)
  if (!row?.schema) throw new OperationError('DATABASE_URL names a schema that does not exist. Create it first.')
  return row.schema
}
