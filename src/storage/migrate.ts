// Brings a database to this version's schema: forward only, each file once, all under one lock. What only one engine
// needs is in a file of its own (`….postgres.sql`), which follows the one of the same name for both.
import { readdirSync, readFileSync } from 'node:fs'
import { type Clock, rfc3339 } from '../core/clock.ts'
import { ownFile } from '../core/own-files.ts'
import { fixed, type OpenDb, sql } from './db.ts'

export const FOLDER = ownFile('storage/migrations/')

/** Applies what is missing and returns the names of what it applied, or 'busy' while another process does so. */
export async function migrate(db: OpenDb, clock: Clock): Promise<string[] | 'busy'> {
  return db.transaction(async (tx) => {
    if (!(await tx.tryLock('switchyard schema'))) return 'busy'
    await tx.rows(sql`CREATE TABLE IF NOT EXISTS schema_migration (name TEXT PRIMARY KEY, applied_at TEXT NOT NULL)`)
    const applied = new Set(
      (await tx.rows<{ name: string }>(sql`SELECT name FROM schema_migration`)).map((r) => r.name),
    )
    const missing = migrationsFor(db.engine, readdirSync(FOLDER)).filter((name) => !applied.has(name))
    for (const name of missing) {
      for (const statement of statements(readFileSync(new URL(name, FOLDER), 'utf8'))) await tx.rows(fixed(statement))
      await tx.rows(sql`INSERT INTO schema_migration (name, applied_at) VALUES (${name}, ${rfc3339(clock.now())})`)
    }
    return missing
  })
}

const FILE = /^(\d{4}-[a-z0-9-]+)(?:\.(sqlite|postgres))?\.sql$/

/** The names of the files that an engine needs, in their order. */
export function migrationsFor(engine: OpenDb['engine'], names: readonly string[]): string[] {
  const files = names.flatMap((name) => {
    const [, title = '', only = ''] = FILE.exec(name) ?? []
    return title !== '' && (only === '' || only === engine) ? [{ name, place: `${title} ${only}` }] : []
  })
  return files.sort((a, b) => (a.place < b.place ? -1 : 1)).map(({ name }) => name)
}

/** A statement ends with a semicolon at the end of a line; no text in a migration contains that. */
export const statements = (script: string) =>
  script
    .replace(/^\s*--.*$/gm, '')
    .split(/;\s*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')
