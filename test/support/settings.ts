// The settings of a service of its own: a fresh data folder, and a fresh database where this run is for PostgreSQL.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { onTestFinished } from 'vitest'
import { type Config, readConfig } from '../../src/config.ts'
import { ENGINE } from './databases.ts'

export async function newSettings(): Promise<Config> {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-settings-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const url = ENGINE === 'postgres' ? await freshDatabase() : ''
  return readConfig({ SWITCHYARD_DATA_DIR: join(folder, 'data'), DATABASE_URL: url })
}

/** A whole database rather than a schema: who else is connected to it is part of what is tested. */
async function freshDatabase(): Promise<string> {
  const server = process.env.TEST_DATABASE_URL ?? ''
  const name = `d_${randomBytes(8).toString('hex')}`
  await onServer(server, `CREATE DATABASE ${name}`)
  onTestFinished(() => onServer(server, `DROP DATABASE ${name} WITH (FORCE)`))
  const url = new URL(server)
  url.pathname = name
  return url.href
}

async function onServer(url: string, statement: string): Promise<void> {
  const client = new Client(url)
  await client.connect()
  await client.query(statement)
  await client.end()
}
