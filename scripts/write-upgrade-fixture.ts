// `npm run upgrade-fixture`: a store of each engine as an earlier version leaves it, into test/fixtures. That version is
// built from the history of this repository (test/support/older-version.ts names the commit).
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { DatabaseSync } from '@photostructure/sqlite'
import { storeFile } from '../src/storage/data-folder.ts'
import { buildOlder } from '../test/support/older-version.ts'
import { FIXTURES, type Fixture } from '../test/support/upgrade-fixture.ts'
import { live, upgradeUpstream } from '../test/support/upgrade-story.ts'
import { ENGINES, openScene, type Scene } from '../test/torture/scene.ts'

const older = buildOlder()
const { upstream, place } = await upgradeUpstream()
mkdirSync(FIXTURES, { recursive: true })
for (const engine of ENGINES) {
  const scene = await openScene({ engine, built: older.built, ...place })
  const server = await scene.start()
  const left = await live(scene, () => server.kill())
  const fixture: Fixture = { left, sql: engine === 'sqlite' ? sqliteText(scene) : postgresText(scene) }
  const bytes = gzipSync(JSON.stringify(fixture), { level: 9 })
  writeFileSync(new URL(`${engine}.json.gz`, FIXTURES), bytes)
  process.stdout.write(`${engine}: ${bytes.length} bytes\n`)
  await scene.close()
}
await upstream.close()
older.remove()

function sqliteText({ data_dir }: Scene): string {
  const store = new DatabaseSync(storeFile(data_dir))
  const rows = <Row>(text: string) => store.prepare(text).all() as Row[]
  const made = rows<{ type: string; name: string; sql: string }>(
    `SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'`,
  )
  const tables = made.filter(({ type }) => type === 'table')
  const data = tables.flatMap(({ name }) => {
    const columns = rows<{ name: string }>(`SELECT name FROM pragma_table_info('${name}')`).map((one) => one.name)
    const quoted = columns.map((column) => `quote("${column}")`).join(` || ',' || `)
    return rows<{ line: string }>(`SELECT ${quoted} AS line FROM "${name}"`).map(
      ({ line }) => `INSERT INTO "${name}" ("${columns.join('","')}") VALUES (${line})`,
    )
  })
  const [{ user_version } = { user_version: 0 }] = rows<{ user_version: number }>('PRAGMA user_version')
  const rest = made.filter(({ type }) => type !== 'table')
  store.close()
  return [
    ...tables.map((one) => one.sql),
    ...data,
    ...rest.map((one) => one.sql),
    `PRAGMA user_version = ${user_version}`,
  ]
    .map((statement) => `${statement};\n`)
    .join('')
}

/** Without what only the program that restores it understands, and without settings of the session. */
function postgresText({ database_url = '' }: Scene): string {
  const args = ['--no-owner', '--no-privileges', '--inserts', '--no-comments', '--schema', 'public', database_url]
  const text = execFileSync('pg_dump', args, { encoding: 'utf8', maxBuffer: 1 << 28 })
  return text
    .split('\n')
    .filter((line) => line !== '' && !/^(--|\\|SET |SELECT pg_catalog\.set_config|CREATE SCHEMA)/.test(line))
    .join('\n')
}
