// `npm run openapi`: writes docs/openapi.json from the service's own routes. A test compares the two.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { buildService } from '../src/app.ts'
import { systemClock } from '../src/core/clock.ts'
import { migrate } from '../src/storage/migrate.ts'
import { openSqlite } from '../src/storage/sqlite.ts'

export const OPENAPI_FILE = fileURLToPath(new URL('../docs/openapi.json', import.meta.url))

/** What GET /openapi.json answers in this version, laid out so that a change shows line by line. */
export async function openapiText(): Promise<string> {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  const dir = mkdtempSync(join(tmpdir(), 'switchyard-openapi-'))
  const db = openSqlite(join(dir, 'routes.db'))
  try {
    await migrate(db, systemClock)
    const parts = { db, clock: systemClock, secret: 'not used: nothing is sealed here', process_id: 'openapi', version }
    const { app } = await buildService({ ...parts, logger: pino({ level: 'silent' }) })
    const { statusCode, payload } = await app.inject('/openapi.json')
    await app.close()
    if (statusCode !== 200) throw new Error(`GET /openapi.json answered ${statusCode}`)
    return `${JSON.stringify(JSON.parse(payload), null, 2)}\n`
  } finally {
    await db.close()
    rmSync(dir, { recursive: true, force: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(OPENAPI_FILE, await openapiText())
  process.stdout.write(`wrote ${OPENAPI_FILE}\n`)
}
