// Servers under test, each a process of its own, pinned to one core where the machine can; the load runs on another.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { holdUntilEnd, wasInterrupted } from './held.ts'

export const canPin = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0
export const ROOT = fileURLToPath(new URL('..', import.meta.url))

export const SERVER_CORE = '0'
export const LOAD_CORE = '1'

const STOP_WITHIN_MS = 15_000
const READY_WITHIN_TRIES = 400
const TSX = import.meta.resolve('tsx')

export interface Times {
  /** Processor time of all its threads. */
  cpu_us: number
  /** How long its main thread was ready to run and others had the core. */
  waited_us: number
}

export interface ServerProcess {
  name: string
  url: string
  pid: number
  times(): Times
  /** Processor time used so far, in microseconds. */
  cpuMicros(): number
  rssBytes(): number
  /** Open files, sockets among them. */
  openFiles(): number
  signal(name: NodeJS.Signals): void
  stop(): Promise<void>
}

export interface Start {
  name: string
  script: string
  /** For Node itself, before the script. */
  node_args?: string[]
  args?: string[]
  env?: Record<string, string>
  core?: string
  /** Where it runs; the checkout unless told. */
  cwd?: string
  ready: string
}

/** This process and whatever it starts without a core of its own, a database for one, keeps off the server's core. */
export function keepOffTheServersCore(): void {
  if (canPin) spawnSync('taskset', ['-a', '-c', '-p', LOAD_CORE, String(process.pid)])
}

/** Starts a script that listens on env.PORT, and waits until `ready` answers. It ends with the run at the latest. */
export async function startProcess(start: Start): Promise<ServerProcess> {
  const { name, env = {}, core = SERVER_CORE, ready } = start
  const loader = start.script.endsWith('.ts') ? ['--import', TSX] : []
  const node = [process.execPath, ...loader, ...(start.node_args ?? []), start.script, ...(start.args ?? [])]
  const [command = '', ...rest] = canPin ? ['taskset', '-c', core, ...node] : node
  const child = spawn(command, rest, {
    cwd: start.cwd ?? ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  child.stdout?.resume()
  const stop = holdUntilEnd(() => end(child))
  const url = `http://127.0.0.1:${env.PORT}`
  await untilReady(`${url}${ready}`, child)
  return { name, url, stop, ...watch(child.pid as number), signal: (signal) => void child.kill(signal) }
}

/** What the system counts about a process. */
export function watch(pid: number): Omit<ServerProcess, 'name' | 'url' | 'signal' | 'stop'> {
  return {
    pid,
    times: () => times(pid),
    cpuMicros: () => times(pid).cpu_us,
    rssBytes: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024,
    openFiles: () => readdirSync(`/proc/${pid}/fd`).length,
  }
}

/** The scheduler counts in nanoseconds; the usual counters tick a hundred times a second, too coarse for a round. */
function times(pid: number): Times {
  const sum: Times = { cpu_us: 0, waited_us: 0 }
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const [ran, waited] = readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')
    sum.cpu_us += Number(ran) / 1_000
    if (Number(task) === pid) sum.waited_us = Number(waited) / 1_000
  }
  return sum
}

async function untilReady(url: string, child: ChildProcess): Promise<void> {
  for (let tries = 0; tries < READY_WITHIN_TRIES; tries++) {
    if (child.exitCode !== null) throw new Error(`${child.spawnargs.join(' ')} ended with ${child.exitCode}`)
    const ok = await fetch(url).then(
      (answer) => answer.ok,
      () => false,
    )
    if (ok) return
    await sleep(50)
  }
  throw new Error(`${url} did not become ready`)
}

export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = new Promise((resolve) => child.once('exit', resolve))
  child.kill(wasInterrupted() ? 'SIGKILL' : 'SIGTERM')
  const late = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS)
  await exited
  clearTimeout(late)
}

/** A folder that is gone with the run at the latest. */
export function temporaryFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'switchyard-bench-'))
  const remove = () => rmSync(path, { recursive: true, force: true })
  holdUntilEnd(remove)
  return { path, remove }
}
