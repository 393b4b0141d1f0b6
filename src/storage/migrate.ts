// Brings a database to this version's schema: forward only, each file once, all under one lock.
import { readdirSync, readFileSync } from 'node:fs'
import { type Clock, rfc3339 } from '../core/clock.ts'
import { type Db, sql } from './db.ts'

export const FOLDER = new URL('./migrations/', import.meta.url)

/** Applies what is missing and returns the names of what it applied, or 'busy' while another process does so. */
export async function migrate(db: Db, clock: Clock): Promise<string[] | 'busy'> {
  return db.transaction(async (tx) => {
    if (!(await tx.tryLock('switchyard schema'))) return 'busy'
    await tx.rows(sql`CREATE TABLE IF NOT EXISTS schema_migration (name TEXT PRIMARY KEY, applied_at TEXT NOT NULL)`)
    const applied = new Set(
      (await tx.rows<{ name: string }>(sql`SELECT name FROM schema_migration`)).map((r) => r.name),
    )
    const missing = files().filter((name) => !applied.has(name))
    for (const name of missing) {
      for (const statement of statements(readFileSync(new URL(name, FOLDER), 'utf8')))
        await tx.rows({ text: [statement], values: [] })
      await tx.rows(sql`INSERT INTO schema_migration (name, applied_at) VALUES (${name}, ${rfc3339(clock.now())})`)
    }
    return missing
  })
}

export const files = () =>
  readdirSync(FOLDER)
    .filter((name) => name.endsWith('.sql'))
    .sort()

/** A statement ends with a semicolon at the end of a line; no text in a migration contains that. */
export const statements = (script: string) =>
  script
    .replace(/^\s*--.*$/gm, '')
    .split(/;\s*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')
