// Programs of the tests, put together as the server itself is: they start as fast as it does, and nothing is compiled at
// each start. Once in a worker.
import { readdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { threadId } from 'node:worker_threads'
import { bundle } from '../../scripts/bundle.mjs'

const DIST = fileURLToPath(new URL('../../dist', import.meta.url))
const made = new Map<string, string>()

/** `program`: the path of its source. Returns the path of what can be run. */
export function bundled(program: string): string {
  const known = made.get(program)
  if (known !== undefined) return known
  if (made.size === 0) forgetLeft()
  const name = basename(program, '.ts')
  const folder = join(DIST, `planted-${process.pid}-${threadId}-${name}`)
  bundle(program, folder)
  const path = join(folder, `${name}.js`)
  made.set(program, path)
  return path
}

/** A worker of a test run is told nothing when it ends: what is left behind by one goes with the next. */
function forgetLeft(): void {
  for (const name of readdirSync(DIST)) if (isLeft(name)) rmSync(join(DIST, name), { recursive: true, force: true })
}

function isLeft(name: string): boolean {
  const [, pid] = /^planted-(\d+)-/.exec(name) ?? []
  if (pid === undefined) return false
  try {
    process.kill(Number(pid), 0)
    return false
  } catch {
    return true
  }
}
