// Servers under test, each a process of its own, pinned to one core where the machine can pin; the load runs on another.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const canPin = spawnSync('taskset', ['--version']).status === 0
const TICKS_PER_SECOND = Number(spawnSync('getconf', ['CLK_TCK']).stdout?.toString()) || 100

export const SERVER_CORE = '0'
export const LOAD_CORE = '1'

export interface ServerProcess {
  name: string
  url: string
  /** Processor time used so far, in microseconds, from the process's own counters. */
  cpuMicros(): number
  rssBytes(): number
  stop(): Promise<void>
}

export interface Start {
  name: string
  script: string
  args?: string[]
  env?: Record<string, string>
  core?: string
  ready: string
}

/** Starts a script that prints its address, and waits until `ready` answers. */
export async function startProcess({
  name,
  script,
  args = [],
  env = {},
  core = SERVER_CORE,
  ready,
}: Start): Promise<ServerProcess> {
  const node = [process.execPath, ...(script.endsWith('.ts') ? ['--import', 'tsx'] : []), script, ...args]
  const [command = '', ...rest] = canPin ? ['taskset', '-c', core, ...node] : node
  const child = spawn(command, rest, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'inherit'] })
  child.stdout?.resume()
  const url = `http://127.0.0.1:${env.PORT}`
  await untilReady(`${url}${ready}`, child)
  return {
    name,
    url,
    cpuMicros: () => cpuMicros(child.pid as number),
    rssBytes: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) * 1024,
    stop: () => stop(child),
  }
}

export function cpuMicros(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1e6
}

async function untilReady(url: string, child: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
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

async function stop(child: ChildProcess): Promise<void> {
  const exited = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await exited
}

export function temporaryFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'switchyard-bench-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}
