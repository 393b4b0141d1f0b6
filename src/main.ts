// The server as a process: read settings, open the store, build, listen, and drain on SIGTERM.
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Logger, pino } from 'pino'
import { buildService, type Service } from './app.ts'
import { builtConsole } from './console/built-console.ts'
import { type Clock, systemClock } from './core/clock.ts'
import type { SharedCounters } from './counters/counters.ts'
import { housekeepingTasks, startHousekeeping } from './housekeeping.ts'
import { furtherSockets, mayReusePort } from './http/listening-sockets.ts'
import { bySmtp, type Deliver, toFiles } from './mail/delivery.ts'
import { type FirstFounded, foundFirstProject, ownerAccess } from './start/bootstrap.ts'
import { portToListenOn } from './start/can-listen.ts'
import { type Config, configFileNow } from './start/config.ts'
import { type GatewaySettings, gatewaySettings, isLocalOnly, signUpMode } from './start/gateway-settings.ts'
import { type HousekeepingLeases, housekeepingLeases } from './start/housekeeping-lease.ts'
import { memoryThere } from './start/memory-there.ts'
import { openContents } from './start/open-contents.ts'
import { openCounters } from './start/open-counters.ts'
import { openStore, type Store } from './start/open-store.ts'
import { openTracing } from './start/open-tracing.ts'
import { awaitingRestart } from './start/reload.ts'
import { tellUnspoolable } from './start/spool-folder.ts'
import { stopSignal } from './start/stop-signals.ts'
import { tellUnawaited } from './start/unawaited.ts'
import { showing, usageTasks } from './start/usage-tasks.ts'
import { version } from './start/version.ts'
import { type Notice, welcome } from './start/welcome.ts'
import type { Counted } from './start/worker-messages.ts'
import { checkIntegrity, lockFolder, openDataFolder, runningMark, storeFile } from './storage/data-folder.ts'
import type { OpenDb } from './storage/db.ts'
import { watchEventLoop } from './telemetry/event-loop-delay.ts'
import type { Metrics } from './telemetry/metrics.ts'

export interface Running {
  address: string
  /** R83: reads switchyard.yaml again. A bad file changes nothing. */
  reload(): void
  /** Finishes what is in flight, then lets go of everything. */
  stop(drain_ms: number, is_replaced?: boolean): Promise<void>
  /** Its metrics, as data. */
  counted(): Promise<Counted>
}

/** What a harness may put in place of the real part, to watch or to break it. */
export interface Replaceable {
  clock?: Clock
  open?: typeof openStore
  print?: (text: string) => void
  /** What people are told at the start. */
  notice?: Notice
  /** Where it is one of several workers behind a port. */
  shared?: Shared
}

/** What one of several workers does otherwise than a server by itself. */
export interface Shared {
  /** Whether it is the one that tells people of the start. */
  speaks: boolean
  /** What all of them count together, in the text format. */
  metrics(): Promise<string>
}

const NOBODY_YET = 'nobody can sign in to the first project yet: `switchyard owner-link` prints a link for its owner'
const CANNOT_REPLACE_ITSELF = 'SIGUSR2 replaces workers, and there are none: nothing is replaced'
const RECORDED_WITHIN_MS = 5_000 // slow storage keeps nobody from stopping
const BACKLOG = 4_096 // connections that wait to be taken: with Node's 511, whoever opens many keeps others out
const BOOTSTRAP_POLL_MS = 100 // while another replica founds the first project

export async function startServer(config: Config, replaceable: Replaceable = {}): Promise<Running> {
  const { clock = systemClock, open = openStore, shared } = replaceable
  const logger = pino({ level: config.log_level })
  const settings = gatewaySettings(config)
  if (!shared) await portToListenOn(config) // a first key that a failed start made would never be printed
  const letGo = config.database_url ? () => {} : claimFolder(config.data_dir, (text) => logger.warn(text))
  let store: Store | undefined
  let counters: SharedCounters | undefined
  try {
    const own = ownParts(config)
    counters = await openCounters(config, clock, own.process_id, logger)
    store = await open(config, clock, (err) => logger.warn({ err }, 'a database connection broke'))
    const { db, secret } = store
    const founded = await foundOnce(db, clock, config.bootstrap_key)
    const outward = { public_url: config.public_url, deliverMail: mailDelivery(config, clock, logger) }
    const contents = openContents(db, config.data_dir, settings.artifacts.s3)
    const [sign_up, local_only] = [signUpMode(config), isLocalOnly(config)]
    const tracing = await openTracing(settings.tracing, { ...own, clock, logger })
    const service = await buildService({
      ...{ db, clock, logger, secret, settings, contents, sign_up, local_only, tracing, ...own, ...outward },
      ...(counters && { counters }),
      ...(shared && { metricsOfAll: shared.metrics }),
    })
    const { app, readiness, metrics } = service
    const leases = await registerProcess(service, own.process_id, db, clock)
    counters?.shareAmong(await service.inference.budgets.living(clock.now()))
    app.addHook('onClose', watchEventLoop(metrics.eventLoopDelay))
    const { address, further } = await listen(app, config, shared)
    const { written } = service.inference
    const tasks = [
      ...housekeepingTasks(service, leases, clock),
      ...usageTasks({ db, clock, written, retention_days: config.usage_retention_days, ...showing(metrics, logger) }),
    ]
    const stopHousekeeping = startHousekeeping(tasks, (task, err) => {
      metrics.housekeepingFailures.inc({ task })
      logger.error({ err, task }, 'housekeeping failed')
    })
    if (shared?.speaks !== false) await tellPeople({ config, settings, db, founded, address }, logger, replaceable)

    const stop = async (drain_ms: number, is_replaced = false) => {
      service.inference.jobs.close() // what it began now might be cut off, and another can run it
      if (is_replaced) readiness.partWithConnections()
      else readiness.drain()
      await sleep(drain_ms)
      await Promise.all([further?.close(), app.close(), service.replays.stop()])
      await service.inference.close() // what lives on here is renewed until it has ended
      await stopHousekeeping()
      await flushAndDeregister(service, leases).catch((err) => logger.warn({ err }, 'the store was away at the stop'))
      await Promise.all([tracing?.stop(), counters?.close()])
      await db.close()
      letGo()
    }
    return { address, reload: () => reload(config, settings, service, logger), stop, counted: () => countedBy(metrics) }
  } catch (error) {
    await counters?.close()
    await store?.db.close()
    letGo()
    throw error
  }
}

/** Of the memory, each of several workers has its part. */
const ownParts = ({ workers }: Config) => ({
  process_id: randomUUID(),
  version: version(),
  console: builtConsole(),
  memory_bytes: memoryThere() / workers,
})

/** The first process of several workers takes connections and does nothing else, so they need no further sockets. */
async function listen(app: Service['app'], config: Config, shared: Shared | undefined) {
  const options = { backlog: BACKLOG, reusePort: !shared && mayReusePort() }
  // Whoever shares a port takes connections from each other: nobody else may have it.
  const port = options.reusePort ? await portToListenOn(config) : config.port
  const address = await app.listen({ host: config.host, port, ...options })
  return { address, further: options.reusePort ? await furtherSockets(app.server, options) : undefined }
}

const countedBy = ({ registry }: Metrics) => registry.getMetricsAsJSON() as unknown as Promise<Counted>

interface Begun {
  config: Config
  settings: GatewaySettings
  db: OpenDb
  founded: FirstFounded | undefined
  address: string
}

async function tellPeople(begun: Begun, logger: Logger, replaceable: Replaceable): Promise<void> {
  const { config, settings, db, founded, address } = begun
  const { clock = systemClock, print = (text) => process.stdout.write(text) } = replaceable
  const { shows_secrets, textOf } = replaceable.notice ?? welcome(config)
  const access = await ownerAccess(db, { founded, shows_secrets }, clock.now())
  print(textOf({ address, public_url: config.public_url ?? address, founded, access, gateway: settings.gateway }))
  if (!founded && access.kind === 'on_request') logger.info(NOBODY_YET)
  await tellUnspoolable(logger)
}

/** R43: from now on our holds are ours; on the embedded store, where we are alone, everybody else's go back at once. */
async function registerProcess(service: Service, process_id: string, db: OpenDb, clock: Clock) {
  const leases = housekeepingLeases(db, process_id, clock)
  const { inference, artifacts, contents, notifications, app } = service
  const { budgets } = inference
  await budgets.beat(clock.now())
  if (db.engine === 'sqlite') {
    await budgets.forgetOtherProcesses()
    await leases.forgetOthers()
    await contents.nobodyWrites()
    const swept = artifacts.sweep(db).then(() => contents.sweep(db))
    await swept.catch((err) => app.log.warn({ err }, 'contents could not be swept; the next sweep tries again'))
    await notifications.nobodySends()
  }
  while ((await budgets.returnOrphans(clock.now())) > 0);
  return leases
}

/** What the other replicas would otherwise only notice after a while. */
async function flushAndDeregister(
  { uses, refusals, refused, artifacts, recordings, notifications, inference }: Service,
  leases: HousekeepingLeases,
): Promise<void> {
  await uses.flush()
  await refusals.flush()
  await refused.flush()
  await artifacts.flushUses()
  await notifications.stop()
  await Promise.race([recordings.tapes.drained(), sleep(RECORDED_WITHIN_MS, undefined, { ref: false })])
  await leases.giveUp()
  await inference.budgets.leave()
}

function mailDelivery({ smtp_url, public_url, data_dir }: Config, clock: Clock, logger: Logger): Deliver {
  const sender = public_url ?? 'http://localhost'
  return smtp_url ? bySmtp(smtp_url, sender, clock) : toFiles(join(data_dir, 'outbox'), sender, clock, logger)
}

async function foundOnce(db: OpenDb, clock: Clock, raw_key: string | undefined) {
  for (;;) {
    const founded = await foundFirstProject(db, clock.now(), raw_key)
    if (founded !== 'busy') return founded === 'exists' ? undefined : founded
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

function reload(config: Config, settings: GatewaySettings, service: Service, logger: Logger): void {
  const config_file = configFileNow(config)
  if (!config_file) return void logger.warn('there is no switchyard.yaml to read again')
  try {
    const next = gatewaySettings({ ...config, config_file })
    const needs_restart = awaitingRestart(settings, next)
    const changes = service.replaceSettings(next)
    logger.info({ changes }, `${config_file} was read again`)
    if (needs_restart.length > 0) logger.warn({ needs_restart }, 'some of what changed needs a restart')
  } catch (err) {
    logger.error({ err }, `${config_file} was not taken: the settings stay as they were`)
  }
}

/** Serves until SIGTERM or SIGINT, or until its terminal is closed. Resolves with the exit code. */
export async function serveUntilSignal(config: Config, replaceable?: Replaceable): Promise<number> {
  let running: Running | undefined
  let asked_early = false // while it was starting
  tellUnawaited(config)
  const signalled = stopSignal({
    onReload() {
      if (running) running.reload()
      else asked_early = true
    },
    onReplace() {
      pino({ level: config.log_level }).warn(CANNOT_REPLACE_ITSELF)
    },
  })
  running = await startServer(config, replaceable)
  if (asked_early) running.reload()
  const signal = await signalled
  // Somebody at a keyboard need not wait for a load balancer to notice.
  const drain_ms = signal === 'SIGTERM' ? config.drain_ms : 0
  return stopInTime(running, { drain_ms, stop_ms: config.stop_ms })
}

interface Stopping {
  drain_ms: number
  stop_ms: number
  /** Another one has taken its place: whoever asks is not told that nobody will answer. */
  is_replaced?: boolean
}

/** Resolves with the exit code: 1 where something had to be cut off. */
export function stopInTime(running: Running, { drain_ms, stop_ms, is_replaced }: Stopping): Promise<number> {
  const stopped = running.stop(drain_ms, is_replaced).then(() => 0)
  const late = sleep(drain_ms + stop_ms, 1, { ref: false })
  return Promise.race([stopped, late])
}
