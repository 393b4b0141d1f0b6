// `switchyard serve`: the service in the foreground.
import type { Command } from 'commander'
import { withExample } from '../command-line.ts'
import { configuration, development, server, worker, workers } from '../on-demand.ts'

export function addServe(program: Command): void {
  const serving = program
    .command('serve')
    .description('run the service in the foreground until SIGTERM; the first start prints an admin key')
    .option('--dev', 'use a separate store in the folder dev of the data folder; print its key at every start')
    .action(async ({ dev }: { dev?: true }) => {
      process.exitCode = dev ? await serveForDevelopment() : await serve()
    })
  withExample(serving, 'switchyard serve', 'PORT=9000 SWITCHYARD_DATA_DIR=/var/lib/switchyard switchyard serve')
}

async function serve(): Promise<number> {
  const { readConfig } = await configuration()
  const config = readConfig() // before anything heavy is loaded: a bad setting is told at once
  if (config.workers > 1) {
    const { isWorker, superviseWorkers } = await workers()
    return isWorker() ? (await worker()).serveAsWorker(config) : superviseWorkers(config)
  }
  const { serveUntilSignal } = await server()
  return serveUntilSignal(config)
}

async function serveForDevelopment(): Promise<number> {
  const { readConfig } = await configuration()
  const { serveForDevelopment: serve } = await development()
  return serve(readConfig({ LOG_LEVEL: 'warn', ...process.env }))
}
