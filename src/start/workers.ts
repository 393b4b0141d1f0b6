// `SWITCHYARD_WORKERS`: several servers behind one port. This is the process that starts them and hands them
// connections (node:cluster); each of them is a replica of its own, as if it ran on another machine.
import cluster from 'node:cluster'
import { pino } from 'pino'
import { portToListenOn } from './can-listen.ts'
import { type Config, SettingError } from './config.ts'
import { stopSignal } from './stop-signals.ts'
import { WorkerStartError, workerCrew } from './worker-crew.ts'

export const isWorker = () => cluster.isWorker

/** Until SIGTERM or SIGINT. Resolves with the exit code. */
export async function superviseWorkers(config: Config): Promise<number> {
  assertWorkersFit(config)
  const port = await portToListenOn(config)
  const logger = pino({ level: config.log_level })
  let onNobodyLeft = (_error: unknown) => {}
  const nobodyLeft = new Promise<never>((_resolve, reject) => {
    onNobodyLeft = reject
  })
  nobodyLeft.catch(() => {})
  const crew = workerCrew({ ...config, port }, logger, onNobodyLeft)
  const signalled = stopSignal({ onReload: crew.reload, onReplace: () => void crew.replaceAll() })
  try {
    const opened = crew.open().then(() => signalled)
    const signal = await Promise.race([signalled, opened, nobodyLeft])
    return await crew.stop(signal === 'SIGTERM' ? config.drain_ms : 0)
  } catch (error) {
    if (!(error instanceof WorkerStartError)) throw error
    logger.fatal(error.message)
    await crew.stop(0)
    return error.exit_code
  }
}

/** What stores or counts by itself cannot be several processes. */
export function assertWorkersFit({ workers, database_url, redis_url }: Config): void {
  const several = `SWITCHYARD_WORKERS is ${workers}: more than one`
  if (!database_url) throw new SettingError(`${several} needs DATABASE_URL, since the embedded store has one server.`)
  if (!redis_url) throw new SettingError(`${several} needs REDIS_URL, in which the workers count rates together.`)
}
