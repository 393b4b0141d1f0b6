// What a suite needs, read from what it imports: no list to keep. A suite that cannot reach test/support/databases.ts
// cannot tell the engines apart, so it need not run on both; one that reaches the helper of a part needs that part.
import { existsSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { globSync } from 'tinyglobby'
import type { Part } from './machine-parts.ts'

const ENGINES = 'test/support/databases.ts'
const HELPERS: Record<string, Part> = {
  'test/support/postgres-server.ts': 'PostgreSQL',
  'test/support/redis-server.ts': 'Redis',
  'test/console/chromium.ts': 'Chromium',
}
export type Read = (path: string) => string | undefined

const fromDisk: Read = (path) => (existsSync(path) ? readFileSync(path, 'utf8') : undefined)

/** A reader of the tree as it is, or of another, for tests. */
export function suiteNeeds(read: Read = fromDisk) {
  const known = new Map<string, string[]>()

  function importsOf(path: string): string[] {
    const found = known.get(path) ?? localImports(path, read(path) ?? '').filter((one) => !isProduct(one))
    known.set(path, found)
    return found
  }

  function reached(suite: string): Set<string> {
    const all = new Set([suite])
    for (const one of all) for (const next of importsOf(one)) all.add(next)
    return all
  }

  const helpers = (suite: string) => [...reached(suite)].flatMap((path) => HELPERS[path] ?? [])

  return {
    /** Whether it may behave differently on the other engine, or is about what only a cluster has. */
    runsOnPostgres: (suite: string) => reached(suite).has(ENGINES) || helpers(suite).includes('Redis'),
    partsOf: (suite: string, engine: Engine): Part[] => [
      ...new Set([...helpers(suite), ...(reached(suite).has(ENGINES) ? PARTS_OF_ENGINE[engine] : [])]),
    ],
  }
}

type Engine = 'sqlite' | 'postgres'
/** R50: a cluster counts in Redis. */
const PARTS_OF_ENGINE: Record<Engine, readonly Part[]> = { sqlite: [], postgres: ['PostgreSQL', 'Redis'] }

/**
 * They reach a store and show nothing of it that others do not: protocols, who is let in, routes, time, memory and what a
 * call costs are the same over either. How a charge is written, and that it is exact however many come at once, is shown
 * on both by budgets, waivers, limits, settlement and the simulations.
 */
export const SAME_ON_BOTH: readonly string[] = [
  'src/http/compiled-shapes',
  'src/http/reference',
  'src/start/open-tracing',
  ...[
    '05-authentication',
    '05-browsers',
    '07-encoded-bodies',
    '07-errors',
    '07-malformed-http',
    '08-limit-answers',
    '10-headers',
    'ignored-fields',
    'inference-audio',
    'inference-azure',
    'inference-bedrock',
    'inference-beyond-bounds',
    'inference-bulkheads',
    'inference-compaction',
    'inference-converse',
    'inference-counting',
    'inference-counts',
    'inference-explained',
    'inference-foreign',
    'inference-headers',
    'inference-images',
    'inference-last-word',
    'inference-memory',
    'inference-messages',
    'inference-messages-bytes',
    'inference-messages-money',
    'inference-messages-over-chat',
    'inference-metrics',
    'inference-moderations-rerank',
    'inference-money-fields',
    'inference-own-capacity',
    'inference-placing',
    'inference-pointed-items',
    'inference-probes',
    'inference-reference-memory',
    'inference-references',
    'inference-reload',
    'inference-retries',
    'inference-routing',
    'inference-silence',
    'inference-tracing',
    'inference-turns',
    'inference-upstream-fails',
    'inference-vertex',
    'inference-who-pays',
    'openapi',
    'outage',
    'v1-anthropic-client',
    'v1-bytes',
    'v1-openai-client',
    'v1-responses-client',
  ].map((name) => `test/spec/${name}`),
].map((name) => `${name}.test.ts`)

/** The projects of vitest.config.ts whose suites need something of the machine. Those of `slow` name their engine. */
const PROJECTS = {
  postgres: {
    patterns: [
      ...['src/**/*.test.ts', 'test/spec/**/*.test.ts', 'test/sim/**/*.test.ts', 'bench/**/*.test.ts'],
      ...SAME_ON_BOTH.map((path) => `!${path}`),
    ],
    engine: 'postgres',
  },
  console: { patterns: ['test/console/**/*.test.ts'], engine: 'sqlite' },
  slow: { patterns: ['test/slow/**/*.test.ts'], engine: 'postgres' },
} as const

export type Project = keyof typeof PROJECTS
export const NEEDING_PROJECTS = Object.keys(PROJECTS) as Project[]

export interface Suite {
  path: string
  parts: Part[]
}

let ours: ReturnType<typeof suiteNeeds> | undefined // of the tree as it is: each file is read once

export function suitesOf(project: Project): Suite[] {
  const { patterns, engine } = PROJECTS[project]
  ours ??= suiteNeeds()
  const { runsOnPostgres, partsOf } = ours
  return globSync([...patterns])
    .sort()
    .filter((path) => project !== 'postgres' || runsOnPostgres(path))
    .map((path) => ({ path, parts: partsOf(path, engine) }))
}

const SLOW_LEFT_OUT =
  /\/(accounts|fuzz-upstreams|image|package|purge|recording-cuts|transcripts|upgrade|torture-(hostile|redis|replays))\.test/
const CONSOLE_LEFT_OUT = /\/(every-page|full-house|jobs|accounts|usage|tags-purges|reference|start)\.test/

/**
 * What a very slow machine leaves to others: see machine-speed.ts. Of PostgreSQL, routes; not stores, money or races. Of
 * the rest, the longest.
 */
const LEFT_OUT: Record<Project, (path: string) => boolean> = {
  postgres: (path) =>
    /^test\/spec\//.test(path) &&
    !/\/(08-|11-|redis-|sweep-|purge-|inference-(budgets|crash|keys|operator|tags|waivers))/.test(path),
  slow: (path) => SLOW_LEFT_OUT.test(path),
  console: (path) => CONSOLE_LEFT_OUT.test(path),
}

export const isLeftOut = (project: Project, path: string): boolean => LEFT_OUT[project](path)

export const leftOutOf = (projects: readonly Project[]) =>
  projects.flatMap((project) =>
    suitesOf(project)
      .filter(({ path }) => isLeftOut(project, path))
      .map(({ path }) => ({ project, path })),
  )

/** The service and its command know nothing of tests; test/tidy.test.ts sees to that. */
const isProduct = (path: string) => /^(src|cli|console)\//.test(path) && !path.endsWith('.test.ts')

const IMPORT = /^(?:import|export) (?!type )(?:[^';]*? from )?'(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm

const localImports = (path: string, text: string) =>
  [...text.matchAll(IMPORT)].map(([, named, called]) => posix.join(posix.dirname(path), named ?? called ?? ''))
