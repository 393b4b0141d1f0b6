// The `switchyard` command as people run it: compiled, in a process of its own, in a folder of its own.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
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

  function start(args: readonly string[], env: Environment = {}) {
    const child = spawn(process.execPath, [program, ...args], {
      cwd: folder,
      env: { PATH: process.env.PATH ?? '', PORT: '0', SWITCHYARD_DRAIN_MS: '0', ...settings, ...env },
    })
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

  /** Runs a command to its end. */
  function run(args: readonly string[], env: Environment = {}, input = ''): Promise<Ended> {
    const { child, ended } = start(args, env)
    child.stdin.on('error', () => {}) // it may have ended without reading
    child.stdin.end(input)
    return ended
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

  return { folder, run, serve, leave }
}
