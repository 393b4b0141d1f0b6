// A real PostgreSQL for tests: the one that TEST_DATABASE_URL names, else one of our own, from programs on this machine.
import { execFileSync, type SpawnOptions, spawn, spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { endsWithUs } from './ends-with-us.ts'
import { freePort } from './free-port.ts'
import { need } from './provision.ts'

export interface PostgresServer {
  url: string
  /** The postmaster's, where it is ours. */
  pid?: () => number | undefined
  /** Kills the postmaster without a chance to tidy up, as a power cut of the database machine would; SIGQUIT is what
   * `pg_ctl stop -m immediate` sends. */
  kill(signal?: 'SIGKILL' | 'SIGQUIT'): void
  /** Starts it again on the same data and port. */
  start(): Promise<void>
  stop(): Promise<void>
}

export async function postgresServer(note: (text: string) => void = () => {}): Promise<PostgresServer> {
  const given = process.env.TEST_DATABASE_URL
  if (given) {
    const notOurs = () => {
      throw new Error('the PostgreSQL of TEST_DATABASE_URL is not ours to stop: unset it for this test')
    }
    return { url: given, kill: notOurs, start: notOurs, stop: async () => {} }
  }
  const bin = await need('PostgreSQL', note)
  note(`PostgreSQL from ${bin}`)
  return startCluster(bin, { settings: CARELESS })
}

/**
 * One that nobody else uses, whatever TEST_DATABASE_URL says: it may be killed. In a folder that is named it leaves its
 * data there when it stops, and finds it again.
 */
export async function ownPostgresServer(
  note: (text: string) => void = () => {},
  kept_in?: string,
): Promise<PostgresServer> {
  const bin = await need('PostgreSQL', note)
  note(`PostgreSQL from ${bin}`)
  return startCluster(bin, { kept_in })
}

/** For one that nobody kills: it need not keep anything through a crash. */
const CARELESS = [
  ...['fsync=off', 'full_page_writes=off', 'synchronous_commit=off', 'wal_level=minimal', 'max_wal_senders=0'],
  ...['autovacuum=off', 'checkpoint_timeout=1h', 'max_wal_size=2GB'],
]

interface Cluster {
  /** A folder that is left behind. */
  kept_in?: string | undefined
  settings?: readonly string[]
}

// What a test writes need not outlive the machine: in memory, a flush to disk costs nothing.
const SCRATCH = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

async function startCluster(bin: string, { kept_in, settings: more = [] }: Cluster): Promise<PostgresServer> {
  const data = kept_in ?? mkdtempSync(join(SCRATCH, 'switchyard-postgres-'))
  mkdirSync(data, { recursive: true })
  const as = unprivileged(data)
  const port = await freePort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  if (!existsSync(join(data, 'PG_VERSION')))
    execFileSync(join(bin, 'initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale'], {
      ...as,
      stdio: 'pipe',
    })
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${data}`,
    'max_connections=300',
    ...more,
  ]
  let postmaster: ReturnType<typeof spawn>
  let exited: Promise<void>
  const server: PostgresServer = {
    url,
    pid: () => postmaster.pid,
    kill: (signal = 'SIGKILL') => void postmaster.kill(signal),
    async start() {
      await exited
      const options: SpawnOptions = { ...as, stdio: 'ignore' }
      const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])]
      const spawnOnce = () => {
        postmaster = spawn(join(bin, 'postgres'), args, options)
        endsWithUs(postmaster, { signal: 'QUIT', folder: kept_in === undefined ? data : undefined })
        exited = new Promise((done) => void postmaster.once('exit', () => done()))
      }
      spawnOnce()
      // After a kill it refuses to start until the last of its orphaned processes is gone.
      await untilAnswering(url, () => postmaster.exitCode !== null && spawnOnce())
    },
    async stop() {
      postmaster.kill('SIGINT') // fast shutdown
      await exited
      if (kept_in === undefined) rmSync(data, { recursive: true, force: true })
    },
  }
  await server.start()
  return server
}

/** PostgreSQL refuses to run as root: its own user, or nobody, runs it then. */
function unprivileged(data: string): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const { status, stdout } = spawnSync('id', ['-u', 'postgres'])
  const uid = status === 0 ? Number(stdout.toString()) : 65_534
  chownSync(data, uid, uid)
  return { uid, gid: uid }
}

async function untilAnswering(url: string, look: () => void): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    look()
    const client = new Client({ connectionString: url })
    try {
      await client.connect()
      await client.end()
      return
    } catch {
      await sleep(100)
    }
  }
  throw new Error('PostgreSQL did not start within 30 s')
}
