// The `switchyard` command as people run it: compiled, in a process of its own, in a folder of its own.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { globSync } from 'tinyglobby'
import { afterAll, beforeAll, vi } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'

export type Environment = Record<string, string>

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

export type Workplace = ReturnType<typeof workplaceWith>

/** The command compiled from the sources as they are: dist may be of yesterday. */
export function compiledCommand() {
  vi.setConfig({ testTimeout: 120_000 }) // seconds on an idle machine, but each test starts several processes
  let folder = ''
  beforeAll(() => {
    folder = compiled()
  })
  afterAll(() => vi.resetConfig())
  return { workplace: (settings: Environment = {}) => workplaceWith(join(folder, 'cli/main.js'), settings) }
}

const COMPILED = resolve('.cache/command')
const KEPT_MS = 24 * 60 * 60_000

/** Compiled once for all suites, and for the next run too, until a source changes. */
function compiled(): string {
  const folder = join(COMPILED, fingerprint())
  if (existsSync(folder)) return folder
  mkdirSync(COMPILED, { recursive: true })
  for (const name of readdirSync(COMPILED))
    if (statSync(join(COMPILED, name)).mtimeMs < systemClock.now() - KEPT_MS)
      rmSync(join(COMPILED, name), { recursive: true, force: true })
  const made = mkdtempSync(join(COMPILED, 'new-'))
  const args = ['-p', 'tsconfig.build.json', '--outDir', made, '--incremental', 'false', '--noCheck']
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', ...args])
  cpSync('src/storage/migrations', join(made, 'src/storage/migrations'), { recursive: true })
  cpSync('package.json', join(made, 'package.json'))
  try {
    renameSync(made, folder)
  } catch {
    rmSync(made, { recursive: true, force: true }) // another suite was quicker
  }
  return folder
}

/** Of what is compiled and how: any change makes another. */
function fingerprint(): string {
  const hash = createHash('sha256')
  for (const path of globSync(['src/**', 'cli/**', 'package.json', 'tsconfig*.json'], {
    ignore: '**/*.test.ts',
  }).sort())
    hash.update(path).update('\0').update(readFileSync(path)).update('\0')
  return hash.digest('hex').slice(0, 32)
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
    return { url, said, ended, stop }
  }

  function leave(): void {
    for (const child of children) child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }

  return { folder, run, serve, leave }
}
