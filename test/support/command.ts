// The `switchyard` command as people run it: compiled, in a folder of its own. Servers are processes of their own; what
// only asks or tells runs in one process after the other (command-host.mjs), which cli/process.test.ts shows to be the
// same.
import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, vi } from 'vitest'
import { endsWithUs } from './ends-with-us.ts'

export type Environment = Record<string, string>

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

export type Workplace = ReturnType<typeof workplaceWith>

/** The command as `npm run build` leaves it, from the sources as they are: with nothing to do, that takes no time. */
export function compiledCommand() {
  vi.setConfig({ testTimeout: 120_000 }) // seconds on an idle machine, but each test starts several processes
  beforeAll(() => void execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: 'pipe' }))
  afterAll(() => vi.resetConfig())
  return { workplace: (settings: Environment = {}) => workplaceWith(resolve('dist/cli/main.js'), settings) }
}

/** A folder to run commands in, with nothing of the developer's own environment but PATH. */
function workplaceWith(program: string, settings: Environment) {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-command-'))
  const children = new Set<ChildProcess>()

  const environment = (env: Environment): Environment => ({
    ...{ PATH: process.env.PATH ?? '', PORT: '0', SWITCHYARD_DRAIN_MS: '0' },
    ...settings,
    ...env,
  })

  function start(args: readonly string[], env: Environment = {}) {
    const child = spawn(process.execPath, [program, ...args], { cwd: folder, env: environment(env) })
    endsWithUs(child)
    children.add(child)
    const said = { stdout: '', stderr: '' }
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream].setEncoding('utf8').on('data', (text) => {
        said[stream] += text
      })
    const ended = new Promise<Ended>((done) => {
      child.once('close', (code) => {
        children.delete(child)
        done({ code, ...said })
      })
    })
    return { child, said, ended }
  }

  /** Runs a command to its end, in a process of its own. */
  function runAlone(args: readonly string[], env: Environment = {}, input = ''): Promise<Ended> {
    const { child, ended } = start(args, env)
    child.stdin.on('error', () => {}) // it may have ended without reading
    child.stdin.end(input)
    return ended
  }

  /** Runs a command to its end. */
  function run(args: readonly string[], env: Environment = {}, input = ''): Promise<Ended> {
    if (args[0] === 'serve') return runAlone(args, env, input)
    return hosted(program, { args, env: environment(env), folder, input })
  }

  /** Starts a server and waits until it says `awaited`, the last thing that the caller wants to read. */
  async function serve(env: Environment = {}, awaited = /Server listening at/, ...options: string[]) {
    const { child, said, ended } = start(['serve', ...options], env)
    await new Promise<void>((heard, failed) => {
      child.stdout.on('data', () => void (awaited.test(said.stdout) && heard()))
      ended.then(({ code, stderr }) => failed(new Error(`the server ended with ${code}: ${stderr}`)))
    })
    const [url = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(said.stdout) ?? []
    const stop = (signal: NodeJS.Signals = 'SIGTERM') => {
      child.kill(signal)
      return ended
    }
    return { url, said, ended, signal: (signal: NodeJS.Signals) => void child.kill(signal), stop }
  }

  function leave(): void {
    for (const child of children) child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }

  return { folder, run, runAlone, serve, leave }
}

interface Told {
  args: readonly string[]
  env: Environment
  folder: string
  input: string
}

let host: { child: ChildProcess; waiting: Map<number, (ended: Ended) => void> } | undefined
let runs = 0

/** In the one process that this worker has for all of its suites. */
function hosted(program: string, told: Told): Promise<Ended> {
  host ??= startHost(program)
  const { child, waiting } = host
  const run = ++runs
  return new Promise((done) => {
    waiting.set(run, done)
    child.send({ run, ...told })
  })
}

function startHost(program: string): NonNullable<typeof host> {
  const child = fork(new URL('./command-host.mjs', import.meta.url), [program], { execArgv: [] })
  endsWithUs(child)
  const waiting = new Map<number, (ended: Ended) => void>()
  child.on('message', ({ run, ended }: { run: number; ended: Ended }) => {
    waiting.get(run)?.(ended)
    waiting.delete(run)
  })
  child.once('exit', (code) => {
    host = undefined
    const ended = { code, stdout: '', stderr: 'the process that runs commands ended\n' }
    for (const done of waiting.values()) done(ended)
  })
  child.unref()
  child.channel?.unref()
  return { child, waiting }
}
