// Rolling deploys: while replicas are replaced, the version before runs on the schema of the version after. So what it
// reads must still be there, and what it writes must still be accepted. Expand first; contract in a later release.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type OpenDb, sql } from './db.ts'
import { FOLDER, migrationsFor, statements } from './migrate.ts'
import { openSqlite } from './sqlite.ts'

const files = (engine: OpenDb['engine']) => migrationsFor(engine, readdirSync(FOLDER))

/** What can be read off a statement. */
const FORBIDDEN: [RegExp, string][] = [
  [/\bDROP\s+(TABLE|COLUMN|VIEW)\b/i, 'the version before still reads it'],
  [/\bRENAME\b/i, 'the version before knows the old name: add, copy, and remove in a later release'],
  [/\bALTER\s+(COLUMN\s+)?\w+\s+(SET\s+DATA\s+)?TYPE\b/i, 'the version before writes the old type'],
  [/\bSET\s+NOT\s+NULL\b/i, 'the version before leaves it empty'],
  [/\bADD\s+(CONSTRAINT|UNIQUE|CHECK|FOREIGN)\b/i, 'the version before may break it'],
  [
    /\bADD\s+(COLUMN\s+)?(?!CONSTRAINT)\w+\s+[^;]*\bNOT\s+NULL(?![^;]*\bDEFAULT\b)/i,
    'the version before leaves it out',
  ],
  [/\bTRUNCATE\b/i, 'what is there belongs to the version before as well'],
]

const faultsOf = (statement: string) =>
  FORBIDDEN.filter(([pattern]) => pattern.test(statement)).map(([, why]) => `${statement.slice(0, 60)}: ${why}`)

const scriptOf = (name: string) => statements(readFileSync(new URL(name, FOLDER), 'utf8'))

interface Column {
  name: string
  type: string
  notnull: number
  dflt_value: string | null
  pk: number
}

function openScratch(): OpenDb {
  const dir = mkdtempSync(join(tmpdir(), 'switchyard-schema-'))
  const db = openSqlite(join(dir, 'scratch.db'))
  onTestFinished(async () => {
    await db.close()
    rmSync(dir, { recursive: true })
  })
  return db
}

/** Every table with its columns and its unique indexes, as the database itself describes them. */
async function schemaOf(
  db: OpenDb,
): Promise<Map<string, { columns: Map<string, Column>; unique: Map<string, string[]> }>> {
  const tables = await db.rows<{ name: string }>(sql`SELECT name FROM sqlite_master WHERE type = 'table'`)
  const described = tables.map(async ({ name }) => {
    const columns = await db.rows<Column>({ text: [`SELECT * FROM pragma_table_info('${name}')`], values: [] })
    const indexes = await db.rows<{ name: string; unique: number }>({
      text: [`SELECT * FROM pragma_index_list('${name}')`],
      values: [],
    })
    const unique = new Map<string, string[]>()
    for (const index of indexes.filter((one) => one.unique === 1)) {
      const over = await db.rows<{ name: string }>({
        text: [`SELECT name FROM pragma_index_info('${index.name}')`],
        values: [],
      })
      unique.set(
        index.name,
        over.map((column) => column.name),
      )
    }
    return [name, { columns: new Map(columns.map((column) => [column.name, column])), unique }] as const
  })
  return new Map(await Promise.all(described))
}

type Schema = Awaited<ReturnType<typeof schemaOf>>

/** What the version before would stumble over. */
function breaks(before: Schema, after: Schema): string[] {
  return [...before].flatMap(([table, { columns, unique }]) => {
    const now = after.get(table)
    if (!now) return [`${table} is gone`]
    const gone = [...columns.keys()].filter((name) => !now.columns.has(name)).map((name) => `${table}.${name} is gone`)
    const changed = [...columns.values()].flatMap((was) => {
      const is = now.columns.get(was.name)
      if (!is) return []
      const stricter = is.notnull > was.notnull && is.dflt_value === null
      return is.type !== was.type || stricter ? [`${table}.${was.name} is stricter, or of another type`] : []
    })
    const demanded = [...now.columns.values()]
      .filter(({ name, notnull, dflt_value }) => !columns.has(name) && notnull === 1 && dflt_value === null)
      .map(({ name }) => `${table}.${name} must be written, and is not known`)
    // What the version before does not know it leaves empty, and nothing that is empty is there twice.
    const narrowed = [...now.unique]
      .filter(([index, over]) => !unique.has(index) && over.every((column) => columns.has(column)))
      .map(([index]) => `${table}: ${index} is new`)
    return [...gone, ...changed, ...demanded, ...narrowed]
  })
}

async function apply(db: OpenDb, script: readonly string[]): Promise<string[]> {
  const before = await schemaOf(db)
  for (const statement of script) await db.rows({ text: [statement], values: [] })
  return breaks(before, await schemaOf(db))
}

describe('§operations a migration leaves the version before at work', () => {
  test('§operations nothing that the files say would stop it', () => {
    const names = new Set([...files('sqlite'), ...files('postgres')])
    expect(names.size).toBeGreaterThan(2)
    expect(
      [...names].flatMap((name) =>
        scriptOf(name)
          .flatMap(faultsOf)
          .map((fault) => `${name}: ${fault}`),
      ),
    ).toEqual([])
  })

  test('§operations after each of them, every table still takes what was written before', async () => {
    const db = openScratch()
    const found: string[] = []
    for (const name of files('sqlite'))
      found.push(...(await apply(db, scriptOf(name))).map((fault) => `${name}: ${fault}`))
    expect(found).toEqual([])
  })

  test.each([
    ['a table that goes', 'DROP TABLE thing'],
    ['a column that goes', 'ALTER TABLE thing DROP COLUMN label'],
    ['a table with another name', 'ALTER TABLE thing RENAME TO matter'],
    ['a column with another name', 'ALTER TABLE thing RENAME COLUMN label TO name'],
    ['a unique index on what was not', 'CREATE UNIQUE INDEX thing_by_label ON thing (label)'],
  ])('§operations %s is found', async (_case, statement) => {
    const db = openScratch()
    await apply(db, ['CREATE TABLE thing (id TEXT PRIMARY KEY, label TEXT)'])
    expect(await apply(db, [statement])).not.toEqual([])
  })

  test.each([
    'ALTER TABLE thing ADD COLUMN size BIGINT NOT NULL',
    'ALTER TABLE thing ALTER COLUMN label SET NOT NULL',
    'ALTER TABLE thing ALTER COLUMN label TYPE BIGINT',
    'ALTER TABLE thing ADD CONSTRAINT short CHECK (length(label) < 9)',
    'ALTER TABLE thing\n  RENAME COLUMN label TO name',
    'DROP TABLE thing',
  ])('§operations read off the statement: %s', (statement) => {
    expect(faultsOf(statement)).toHaveLength(1)
  })

  test.each([
    'ALTER TABLE thing ADD COLUMN size BIGINT',
    'ALTER TABLE thing ADD COLUMN size BIGINT NOT NULL DEFAULT 0',
    'CREATE TABLE matter (id TEXT PRIMARY KEY, label TEXT NOT NULL)',
    'CREATE INDEX thing_by_label ON thing (label)',
  ])('§operations allowed: %s', async (statement) => {
    const db = openScratch()
    await apply(db, ['CREATE TABLE thing (id TEXT PRIMARY KEY, label TEXT)'])
    expect([faultsOf(statement), await apply(db, [statement])]).toEqual([[], []])
  })
})
