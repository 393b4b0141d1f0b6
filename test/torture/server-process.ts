// The real server as a process of its own, which can be killed as a machine would kill it.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { endsWithUs } from '../support/ends-with-us.ts'
import { bundled } from './bundled.ts'
import type { Plant } from './plants.ts'

export interface Launch {
  port: number
  /** Where it runs, so that no settings file of the checkout is picked up. */
  folder: string
  log_file: string
  env: Record<string, string>
  plant?: Plant | undefined
  /** The folder of another build than this checkout's. */
  built?: string | undefined
  /** The server's clock is as far ahead as this file says, in milliseconds. */
  clock_file?: string | undefined
}

export interface ServerProcess {
  port: number
  pid: number
  /** Resolves once it serves; rejects if it ended before that, or takes too long. */
  ready: Promise<void>
  isRunning(): boolean
  /** Nothing is flushed, closed or told. Resolves when the process is gone. */
  kill(): Promise<void>
  /** SIGSTOP: it holds everything and does nothing, as on a machine that swaps or is being moved. */
  pause(): void
  /** SIGCONT. */
  resume(): void
  /** SIGTERM, and the exit code it leads to. */
  stop(): Promise<number | null>
}

/** What `npm run build` leaves in this checkout. */
export const BUILT = fileURLToPath(new URL('../../dist', import.meta.url))
const PLANTED = fileURLToPath(new URL('./planted-server.ts', import.meta.url))

const POLL_MS = 20 // each look takes time from the start that it waits for
const START_WITHIN_MS = 120_000 // several start at once, on a machine that has other work

export function spawnServer(launch: Launch): ServerProcess {
  const { port, folder, log_file, env, plant, clock_file, built = BUILT } = launch
  const program = join(built, 'cli/main.js')
  if (!existsSync(program)) throw new Error(`There is no built server in ${built}: run \`npm run build\` first.`)
  const args = plant || clock_file ? [bundled(PLANTED), plant ?? 'none', clock_file ?? ''] : [program, 'serve']
  const log = openSync(log_file, 'a')
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOST: '127.0.0.1', PORT: String(port), ...env },
    stdio: ['ignore', log, log],
  })
  const exited = once(child, 'exit') as Promise<[number | null]>
  endsWithUs(child)
  const ready = untilReady(port, child, log_file)
  ready.catch(() => {}) // whoever kills it while it starts does not wait for this

  return {
    port,
    pid: child.pid as number,
    ready,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
    async stop() {
      child.kill('SIGTERM')
      return (await exited)[0]
    },
  }
}

async function untilReady(port: number, child: ChildProcess, log_file: string): Promise<void> {
  const deadline_ms = performance.now() + START_WITHIN_MS
  while (performance.now() < deadline_ms) {
    if (await isReady(port)) return
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`the server ended while starting (${child.signalCode ?? child.exitCode}): see ${log_file}`)
    await sleep(POLL_MS)
  }
  throw new Error(`the server was not ready within ${START_WITHIN_MS} ms: see ${log_file}`)
}

function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const asking = request({ host: '127.0.0.1', port, path: '/readyz', agent: false }, (reply) => {
      reply.resume()
      resolve(reply.statusCode === 200)
    })
    asking.once('error', () => resolve(false))
    asking.end()
  })
}
