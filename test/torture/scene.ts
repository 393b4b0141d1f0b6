// Where a run takes place: a fresh store of either engine, a folder for what the servers leave, and their addresses.
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { Client as PostgresClient, types } from 'pg'
import { checkIntegrity, storeFile } from '../../src/storage/data-folder.ts'
import { freePort } from '../support/free-port.ts'
import { type PostgresServer, postgresServer } from '../support/postgres-server.ts'
import { databaseOn } from '../support/template-database.ts'
import type { Plant } from './plants.ts'
import { client } from './recording-client.ts'
import { type ServerProcess, spawnServer } from './server-process.ts'

export const ENGINES = ['sqlite', 'postgres'] as const
export type Engine = (typeof ENGINES)[number]

export interface Place {
  engine: Engine
  plant?: Plant | undefined
  /** Servers over the one store; more than one needs PostgreSQL. */
  replicas?: number
  log_level?: string
  /** The `providers:` of its file; without them the placeholder answers. */
  providers?: string
  /** The rest of its file; without it, limits that nobody meets. */
  limits?: string
  /** The folder of another build than this checkout's. */
  built?: string | undefined
  /** Further settings of the servers. */
  settings?: Record<string, string>
  /** The one to use, where the run itself has to do with it. */
  postgres?: PostgresServer | undefined
}

export type Scene = Awaited<ReturnType<typeof openScene>>

export async function openScene(place: Place) {
  const { engine, plant, built, replicas = 1, log_level = 'warn', providers = '', settings = {} } = place
  if (engine === 'sqlite' && replicas > 1) throw new Error('The embedded store has one server: use --engine postgres.')
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-torture-'))
  const data_dir = join(folder, 'data')
  const log_file = join(folder, 'server.log')
  const token = `svc_live_${randomBytes(32).toString('hex')}`
  mkdirSync(data_dir)
  const config_file = settingsFile(folder, `${providers}\n${place.limits ?? NO_LIMITS}`)
  // Last of what may fail: a scene that cannot be set leaves no database running.
  const database = engine === 'postgres' ? await freshDatabase(place.postgres) : undefined
  const env = {
    SWITCHYARD_DATA_DIR: data_dir,
    SWITCHYARD_BOOTSTRAP_KEY: token,
    SWITCHYARD_DRAIN_MS: '0',
    SWITCHYARD_CONFIG: config_file,
    LOG_LEVEL: log_level,
    ...(database && { DATABASE_URL: database.url, SWITCHYARD_SECRET: randomBytes(32).toString('hex') }),
    ...(database && process.env.REDIS_URL && { REDIS_URL: process.env.REDIS_URL }),
    ...settings,
  }
  const ports = await Promise.all(Array.from({ length: replicas }, freePort))
  const clients = ports.map((port) => client(port, token))
  const running = new Set<ServerProcess>()

  /** Starts a server; `ready` of what it returns tells when it serves. */
  function spawn(replica = 0, clock_file?: string): ServerProcess {
    const server = spawnServer({ port: ports[replica] as number, folder, log_file, env, plant, built, clock_file })
    running.add(server)
    return server
  }

  return {
    ...{ folder, data_dir, log_file, token, clients, ports, spawn, env, database_url: database?.url },
    client: clients[0] as (typeof clients)[number],
    port: ports[0] as number,

    async start(replica = 0, clock_file?: string): Promise<ServerProcess> {
      const server = spawn(replica, clock_file)
      await server.ready
      return server
    },

    /** Stops a server as an operator would, and says what is wrong with how it stopped. */
    async stop(server: ServerProcess): Promise<string[]> {
      const code = await server.stop()
      const unmerged = sizeOf(`${storeFile(data_dir)}-wal`)
      return [
        ...(code === 0 ? [] : [`exit code ${code}`]),
        ...(unmerged === 0 ? [] : [`${unmerged} bytes are still in the write-ahead log alone`]),
      ]
    },

    /** What SQLite finds wrong with its own file, read by another connection. PostgreSQL has no such check. */
    damage(): string[] {
      if (engine !== 'sqlite') return []
      try {
        checkIntegrity(storeFile(data_dir))
        return []
      } catch (error) {
        return [(error as Error).message]
      }
    },

    /** Straight from the store, past any server. */
    async rows<Row>(statement: string): Promise<Row[]> {
      if (database) return (await run(database.url, statement)) as Row[]
      const store = new DatabaseSync(storeFile(data_dir), { readOnly: true, timeout: 30_000 })
      try {
        return store.prepare(statement).all() as Row[]
      } finally {
        store.close()
      }
    },

    /** The same, for what only a long time of attacks would bring about. */
    async write(statement: string): Promise<void> {
      if (database) return void (await run(database.url, statement))
      const store = new DatabaseSync(storeFile(data_dir), { timeout: 30_000 })
      try {
        store.exec(statement)
      } finally {
        store.close()
      }
    },

    /** How much room the store takes. */
    async bytes(): Promise<number> {
      if (!database) return sizeOf(storeFile(data_dir)) + sizeOf(`${storeFile(data_dir)}-wal`)
      const [row] = (await run(
        database.url,
        `SELECT SUM(pg_total_relation_size(oid))::BIGINT AS bytes FROM pg_class
         WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 't')`,
      )) as [{ bytes: number }]
      return row.bytes
    },

    /** What the servers themselves called an error: nothing that a client does may come to one. */
    loggedErrors: () =>
      readFileSync(log_file, 'utf8')
        .split('\n')
        .filter((line) => /^\{"level":(50|60),/.test(line) || /^\S*Error: /.test(line)),

    /** Ends whatever still runs, and removes what was made unless somebody may want to look at it. */
    async close({ keep = false } = {}): Promise<void> {
      for (const one of clients) one.close()
      for (const server of running) await server.kill()
      await database?.close(keep)
      if (!keep) rmSync(folder, { recursive: true, force: true })
    },
  }
}

const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0

const PATIENCE_S = 20

/** Nobody kills a common one: on a machine that has no time it is slow, and not away. */
function patient(database: string): string {
  const url = new URL(database)
  url.searchParams.set('connect_timeout', String(PATIENCE_S))
  return url.href
}

/** A database of its own: of the test run's PostgreSQL a copy of its template, which need not be migrated again. */
async function freshDatabase(given?: PostgresServer) {
  const server = given ?? (await postgresServer())
  const is_common = server.url === process.env.TEST_DATABASE_URL
  const { url, drop } = await databaseOn(server.url, is_common ? process.env.TEST_TEMPLATE : undefined)
  return {
    url: is_common ? patient(url) : url,
    async close(keep: boolean) {
      if (!keep) await drop()
      if (!given) await server.stop()
    },
  }
}

async function run(url: string, statement: string): Promise<unknown[]> {
  const connection = new PostgresClient({ connectionString: url, types: { getTypeParser } })
  await connection.connect()
  try {
    return (await connection.query(statement)).rows
  } finally {
    await connection.end()
  }
}

/** Every whole number of ours fits a double. */
const getTypeParser = ((oid: number, format: 'text') =>
  oid === types.builtins.INT8 ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser

/** One key and one address send more here than any limit would let through. */
const MOST = 1_000_000_000
const NO_LIMITS = `limits:
  edge: { inference_per_minute: ${MOST}, read_per_minute: ${MOST} }
  key: { requests_per_minute: ${MOST}, tokens_per_minute: ${MOST}, concurrent_streams: 100000 }
  project: { requests_per_minute: ${MOST} }
quotas: { clusters: 1000000 } # a machine that is quick registers more than a thousand
`

function settingsFile(folder: string, text: string): string {
  const file = join(folder, 'torture.yaml')
  writeFileSync(file, text)
  return file
}
