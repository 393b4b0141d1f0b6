// The server as a process: read settings, open the store, build, listen, and drain on SIGTERM.
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { buildService } from './app.ts'
import { foundFirstProject } from './bootstrap.ts'
import type { Config } from './config.ts'
import { type Clock, systemClock } from './core/clock.ts'
import { housekeepingTasks, startHousekeeping } from './housekeeping.ts'
import { openStore, type Store } from './open-store.ts'
import { checkIntegrity, lockFolder, openDataFolder, runningMark, storeFile } from './storage/data-folder.ts'
import type { OpenDb } from './storage/db.ts'
import { firstKeyNotice } from './welcome.ts'

export interface Running {
  address: string
  /** Finishes what is in flight, then lets go of everything. */
  stop(drain_ms: number): Promise<void>
}

/** What a harness may put in place of the real part, to watch or to break it. */
export interface Replaceable {
  clock?: Clock
  open?: typeof openStore
  print?: (text: string) => void
}

const STOP_WITHIN_MS = 30_000
const BOOTSTRAP_POLL_MS = 100 // while another replica founds the first project

export async function startServer(config: Config, replaceable: Replaceable = {}): Promise<Running> {
  const { clock = systemClock, open = openStore, print = (text) => process.stdout.write(text) } = replaceable
  const logger = pino({ level: config.log_level })
  const letGo = config.database_url ? () => {} : claimFolder(config.data_dir, (text) => logger.warn(text))
  let store: Store | undefined
  try {
    store = await open(config, clock, (err) => logger.warn({ err }, 'a database connection broke'))
    const { db, secret } = store
    const founded = await foundOnce(db, clock, config.bootstrap_key)
    const service = await buildService({ db, clock, logger, secret, process_id: randomUUID(), version: version() })
    const { app, readiness, metrics } = service
    const stopHousekeeping = startHousekeeping(housekeepingTasks(service, db, clock, logger), (task, err) => {
      metrics.housekeepingFailures.inc({ task })
      logger.error({ err, task }, 'housekeeping failed')
    })
    const address = await app.listen({ host: config.host, port: config.port })
    if (typeof founded === 'object') print(firstKeyNotice(founded, address, config.bootstrap_key !== undefined))

    const stop = async (drain_ms: number) => {
      readiness.drain()
      await sleep(drain_ms)
      await app.close()
      await stopHousekeeping()
      await service.uses.flush()
      await db.close()
      letGo()
    }
    return { address, stop }
  } catch (error) {
    await store?.db.close()
    letGo()
    throw error
  }
}

async function foundOnce(db: OpenDb, clock: Clock, raw_key: string | undefined) {
  for (;;) {
    const founded = await foundFirstProject(db, clock.now(), raw_key)
    if (founded !== 'busy') return founded
    await sleep(BOOTSTRAP_POLL_MS)
  }
}

/** The embedded store has one server; after a stop that was not clean, its file is checked before it is used. */
function claimFolder(dir: string, warn: (text: string) => void): () => void {
  openDataFolder(dir)
  const { unlock } = lockFolder(dir)
  const mark = runningMark(dir)
  try {
    if (mark.wasLeft() && existsSync(storeFile(dir))) {
      warn('the last stop was not clean: checking the store')
      checkIntegrity(storeFile(dir))
    }
    mark.set()
  } catch (error) {
    unlock()
    throw error
  }
  return () => {
    mark.clear()
    unlock()
  }
}

/** Serves until SIGTERM or SIGINT. Resolves with the exit code. */
export async function serveUntilSignal(config: Config, replaceable?: Replaceable): Promise<number> {
  const signalled = new Promise<NodeJS.Signals>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, resolve)
  })
  const running = await startServer(config, replaceable)
  const signal = await signalled
  // Somebody at a keyboard need not wait for a load balancer to notice.
  const stopped = running.stop(signal === 'SIGTERM' ? config.drain_ms : 0).then(() => 0)
  const late = sleep(config.drain_ms + STOP_WITHIN_MS, 1, { ref: false })
  return Promise.race([stopped, late])
}

function version(): string {
  // Beside the sources in a checkout, one level further up in a build.
  const beside = ['../package.json', '../../package.json'].map((path) => new URL(path, import.meta.url))
  const file = beside.find((url) => existsSync(url))
  return file ? JSON.parse(readFileSync(file, 'utf8')).version : 'unknown'
}
