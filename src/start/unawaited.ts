// R78: what becomes of a promise that is rejected and that nobody waits for. It is a fault of ours, in one call or one
// task; Node would end the process for it, and with it everybody's calls.
import type { EventEmitter } from 'node:events'
import { type Logger, pino } from 'pino'
import type { Config } from './config.ts'

const MESSAGE = 'a promise was rejected that nobody waits for'

/** Of the whole process, so only programs ask for it. An error that is thrown where nobody catches it still ends it. */
export function tellUnawaited(
  { log_level }: Pick<Config, 'log_level'>,
  of: Pick<EventEmitter, 'on'> = process,
  logger: Pick<Logger, 'error'> = pino({ level: log_level }),
): void {
  of.on('unhandledRejection', (err) => logger.error({ err }, MESSAGE))
}
