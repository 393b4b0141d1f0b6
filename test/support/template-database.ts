// Databases of a PostgreSQL for tests. A run migrates one of them, and the others are copies of it: the files of all
// migrations are applied once, not once for each suite.
import { randomBytes } from 'node:crypto'
import { Pool } from 'pg'
import { migrate } from '../../src/storage/migrate.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { heldClock } from './clock.ts'

export interface FreshDatabase {
  name: string
  url: string
  /** Whoever is still connected to it is cut off. */
  drop(): Promise<void>
}

/** A database of its own on the server that `server` names: an empty one, or a copy of another. */
export async function databaseOn(server: string, template = 'template1'): Promise<FreshDatabase> {
  const name = `switchyard_${randomBytes(8).toString('hex')}`
  await run(server, `CREATE DATABASE ${name} TEMPLATE ${template}`)
  const url = new URL(server)
  url.pathname = name
  return { name, url: url.href, drop: () => run(server, `DROP DATABASE ${name} WITH (FORCE)`) }
}

/** A database with the schema of this version, and nothing in it. Nobody may be connected to it while it is copied. */
export async function makeTemplate(server: string): Promise<FreshDatabase> {
  const template = await databaseOn(server)
  const db = openPostgres(template.url)
  await migrate(db, heldClock())
  await db.close()
  return template
}

const pools = new Map<string, Pool>()

/** One connection to each server, which is there for the next database too. */
async function run(server: string, statement: string): Promise<void> {
  let pool = pools.get(server)
  if (!pool) {
    pool = new Pool({ connectionString: server, max: 1, idleTimeoutMillis: 5_000, allowExitOnIdle: true })
    pool.on('error', () => pools.delete(server)) // the server stopped: whoever asks next connects anew
    pools.set(server, pool)
  }
  await pool.query(statement)
}
