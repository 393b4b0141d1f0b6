// A PostgreSQL that cannot be used as DATABASE_URL asks: how the command ends then, in one line, and with which code.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { type Ending, endingFor } from '../../cli/failure.ts'
import { ENGINE } from '../../test/support/databases.ts'
import { databaseOn } from '../../test/support/template-database.ts'
import { systemClock } from '../core/clock.ts'
import { readConfig } from './config.ts'
import { openStore } from './open-store.ts'

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-refused-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

async function endingAt(url: string): Promise<Ending> {
  const config = readConfig({ DATABASE_URL: url, SWITCHYARD_DATA_DIR: newFolder() })
  const store = await openStore(config, systemClock).catch(endingFor)
  if (!('db' in store)) return store
  await store.db.close()
  throw new Error('it was opened')
}

/** Answers the driver's question for TLS, and hangs up. */
async function answeringTls(answer: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {}).once('data', () => socket.end(answer))
  })
  await new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => void server.close())
  return `postgres://u:hunter2@127.0.0.1:${(server.address() as { port: number }).port}/s`
}

const NO_TLS = /^The TLS that DATABASE_URL asks for \(sslmode\) cannot be had: .+[^.]\.$/

test.each(['require', 'verify-full'])('§store sslmode=%s where the server has no TLS', async (mode) => {
  const { code, text } = await endingAt(`${await answeringTls('N')}?sslmode=${mode}`)
  expect([code, text]).toEqual([3, expect.stringMatching(NO_TLS)])
  expect(text).toContain('does not support SSL')
})

test('§store an authority that is to be verified, and is not named', async () => {
  const { code, text } = await endingAt(`${await answeringTls('S')}?sslmode=verify-ca&uselibpqcompat=true`)
  expect([code, text]).toEqual([3, expect.stringMatching(NO_TLS)])
})

test('§store a certificate that is none', async () => {
  const file = join(newFolder(), 'garbage.pem')
  writeFileSync(file, 'garbage')
  const { code, text } = await endingAt(`${await answeringTls('S')}?sslmode=verify-full&sslcert=${file}&sslkey=${file}`)
  expect([code, text]).toEqual([3, expect.stringMatching(NO_TLS)])
})

test.each([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'unable to verify the first certificate'],
  ['CERT_HAS_EXPIRED', 'certificate has expired'],
])('§store a certificate that nobody trusts: %s', (code, message) => {
  expect(endingFor(Object.assign(new Error(message), { code }))).toEqual({
    code: 3,
    text: `The TLS that DATABASE_URL asks for (sslmode) cannot be had: ${message}.`,
  })
})

/** A role of its own in a database of its own. */
async function roleIn(statements: (role: string) => string[]): Promise<string> {
  const { url, name, drop } = await databaseOn(process.env.TEST_DATABASE_URL ?? '')
  const admin = new Client({ connectionString: url })
  await admin.connect()
  const role = `${name}_poor`
  for (const statement of [`CREATE ROLE ${role} LOGIN PASSWORD 'hunter2'`, ...statements(role)])
    await admin.query(statement)
  onTestFinished(async () => {
    await admin.query(`DROP OWNED BY ${role}`)
    await admin.query(`DROP ROLE ${role}`)
    await admin.end()
    await drop()
  })
  return Object.assign(new URL(url), { username: role, password: 'hunter2' }).href
}

test.runIf(ENGINE === 'postgres').each([
  ['may not create tables', () => [], 'permission denied for schema public'],
  ['has no schema to create them in', () => ['DROP SCHEMA public'], 'no schema has been selected to create in'],
])('§store a user who %s is told so, in one line that names DATABASE_URL', async (_who, statements, reason) => {
  const { code, text } = await endingAt(await roleIn(statements))
  expect([code, text]).toEqual([3, `The user of DATABASE_URL may not create tables there: ${reason}.`])
})
