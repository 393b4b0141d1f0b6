// The console as the build left it: every file read once, with its compressed forms beside it.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Coding } from '../core/content-coding.ts'
import { ownFile } from '../core/own-files.ts'

export interface ConsoleFile {
  type: string
  /** Its name holds a hash of its contents: what was loaded once never changes. */
  immutable: boolean
  bytes: Readonly<Record<Coding, Buffer>>
}

export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>

export const INDEX = 'index.html'

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

// In a checkout the build stands below dist, in a build beside us. The sources of the console have an index too, but
// nothing that was packed.
const PLACES = ['../dist/console', '../console'].map((path) => fileURLToPath(ownFile(path)))

/** Undefined where nobody built it. */
export function builtConsole(places: readonly string[] = PLACES): ConsoleFiles | undefined {
  const folder = places.find((place) => existsSync(join(place, `${INDEX}.br`)))
  if (folder === undefined) return undefined
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return new Map(names.filter((name) => extname(name) in TYPES).map((name) => [name, readFile(folder, name)]))
}

function readFile(folder: string, name: string): ConsoleFile {
  const path = join(folder, name)
  return {
    type: TYPES[extname(name)] as string,
    immutable: name.startsWith('assets'),
    bytes: {
      identity: readFileSync(path),
      gzip: readFileSync(`${path}.gz`),
      br: readFileSync(`${path}.br`),
    },
  }
}
