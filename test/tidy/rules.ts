// The rules of the house over a tree of sources: sizes, names, banned calls, and arrows that point one way.
import { readFileSync } from 'node:fs'
import { globSync } from 'tinyglobby'

export interface Source {
  path: string
  text: string
}

const FILE_LINES_MAX = 300
const FUNCTION_LINES_MAX = 60
const FACTORY_LINES_MAX = 200
const LINE_LENGTH_MAX = 120
const HANDLER_STATEMENTS_MAX = 10
const PARAMETERS_MAX = 4

// The whole service (7) → start, operate (6) → generations (5) → answers, capacity, routing (4) → rooms (3) → http (2)
// → storage, counters (1) → core (0)
const RANK: Record<string, number> = {
  ...{ core: 0, storage: 1, counters: 1, http: 2 },
  ...{ answers: 4, capacity: 4, routing: 4, generations: 5, start: 6, operate: 6, '.': 7 },
}
const ROOM = 3
const START = ['start', 'operate', '.'] // they put the service together, and may open its database
const DOORS = /-(routes|store|hooks)\.ts$/
const PURE_PACKAGES = ['typebox', 'otpauth', 'node:crypto', 'node:zlib'] // data and arithmetic, no I/O
const IMPURE_ROOMS = ['providers', 'telemetry', 'mail', 'webhooks', 'issuers', 'console'] // rooms whose matter is I/O or a library's objects

const CLOCKS = ['src/core/clock.ts', 'console/state/browser-clock.ts']

const BANNED: [RegExp, string, (path: string) => boolean][] = [
  [/\bDate\.now\(|new Date\(\)/, 'take `now` from a Clock', (path) => !CLOCKS.includes(path)],
  [/\bMath\.random\(/, 'take randomness from core/ids.ts', () => true],
  [/process\.env/, 'read settings in config.ts', (path) => !path.startsWith('cli/') && path !== 'src/start/config.ts'],
  [/\bconsole\.[a-z]+\(/, 'log through the logger; print through process.stdout', () => true],
  [/dangerouslySetInnerHTML|innerHTML/, 'let React write the page', () => true],
  [/\bas any\b|: any\b|@ts-ignore|@ts-expect-error/, 'say what it is', () => true],
  [/\bTODO\b|\bFIXME\b|\bXXX\b/, 'do it now, or file an issue', () => true],
  [/\.query\(`[^`]*\$\{/, 'bind values, never build SQL', () => true],
]

export function readTree(): Source[] {
  const ignore = ['**/*.test.ts', 'console/vite.config.ts']
  const paths = globSync(['src/**/*.ts', 'cli/**/*.ts', 'console/**/*.{ts,tsx}'], { ignore })
  return paths.map((path) => ({ path, text: readFileSync(path, 'utf8') }))
}

export function violations(tree: readonly Source[]): string[] {
  return [...tree.flatMap(ofFile), ...sameNames(tree), ...neverImported(tree), ...circles(tree)]
}

function ofFile({ path, text }: Source): string[] {
  const found: string[] = []
  const lines = text.replace(/\n$/, '').split('\n')
  if (lines.length > FILE_LINES_MAX) found.push(`${path}: ${lines.length} lines, at most ${FILE_LINES_MAX}`)
  if (!/^(#!.*\n)?\/\/ /.test(text)) found.push(`${path}: the first line says what rule lives here`)
  if (/(utils?|helpers?|common|misc|index|types)\.tsx?$/.test(path)) found.push(`${path}: name it after what it holds`)
  if (!/^[a-z0-9-]+(\.test)?\.tsx?$/.test(path.split('/').at(-1) ?? ''))
    found.push(`${path}: file names are kebab-case`)
  for (const [index, line] of lines.entries())
    if (line.length > LINE_LENGTH_MAX && !line.includes('http'))
      found.push(`${path}:${index + 1}: a line of ${line.length}`)
  for (const [pattern, instead, applies] of BANNED)
    if (applies(path) && pattern.test(text)) found.push(`${path}: ${pattern.source}: ${instead}`)
  for (const { start, length, is_factory } of functions(lines)) {
    const max = is_factory ? FACTORY_LINES_MAX : FUNCTION_LINES_MAX
    const what = is_factory ? 'factory' : 'function'
    if (length > max && !LONG_FACTORIES.includes(path))
      found.push(`${path}:${start}: a ${what} of ${length} lines, at most ${max}`)
  }
  return [...found, ...longSignatures(path, text), ...longHandlers(path, lines), ...imports(path, text)]
}

const roomOf = (path: string) => {
  const parts = path.split('/')
  return parts.length === 2 ? '.' : (parts[1] as string)
}
const rank = (room: string) => RANK[room] ?? ROOM
const isRule = (path: string) => {
  const room = roomOf(path)
  return rank(room) === ROOM && !DOORS.test(path) && !IMPURE_ROOMS.includes(room)
}

function imports(path: string, text: string): string[] {
  const found: string[] = []
  for (const [statement, clause, specifier = ''] of text.matchAll(/^import (.*?)from '([^']+)'/gms)) {
    const typeOnly = clause?.startsWith('type ') ?? false
    if (!specifier.startsWith('.')) {
      if (path.startsWith('console/') && specifier.startsWith('node:'))
        found.push(`${path}: a browser has no '${specifier}'`)
      if (path.startsWith('src/') && isRule(path) && !PURE_PACKAGES.includes(specifier) && !typeOnly)
        found.push(`${path}: a rule imports '${specifier}'`)
      continue
    }
    if (!/\.tsx?$/.test(specifier)) found.push(`${path}: '${specifier}' must name the file, ending in .ts`)
    const target = new URL(specifier, `file:///${path}`).pathname.slice(1)
    found.push(...arrow(path, target, typeOnly || !/import (?!type)/.test(statement)))
  }
  return found
}

function arrow(path: string, target: string, typeOnly: boolean): string[] {
  if (path.startsWith('console/')) return consoleArrow(path, target, typeOnly)
  if (!path.startsWith('src/')) {
    const entry = /^src\/((start|operate)\/)?[a-z-]+\.ts$/.test(target)
    return target.startsWith('src/') && !typeOnly && !entry
      ? [`${path} → ${target}: only types, or the service's entry points`]
      : []
  }
  if (!target.startsWith('src/')) return [`${path} → ${target}: the service knows nothing outside src`]
  const [here, there] = [roomOf(path), roomOf(target)]
  if (here === there)
    return isRule(path) && DOORS.test(target) && !typeOnly
      ? [`${path} → ${target}: a rule knows no store and no routes`]
      : []
  const found: string[] = []
  if (rank(there) > rank(here)) found.push(`${path} → ${target}: arrows point down`)
  if (rank(there) === ROOM && rank(here) === ROOM && !isRule(target) && !IMPURE_ROOMS.includes(here))
    found.push(`${path} → ${target}: a room sees only another room's rules`)
  if (isRule(path) && rank(there) > 0 && rank(there) < ROOM)
    found.push(`${path} → ${target}: a rule knows no HTTP and no storage`)
  if (/storage\/(sqlite|postgres)/.test(target) && !START.includes(here))
    found.push(`${path} → ${target}: only what starts or operates it opens a database`)
  return found
}

// pages (3) → parts (2) → state (1) → api (0); what stands at the top puts them together (4)
const CONSOLE_RANK: Record<string, number> = { api: 0, state: 1, parts: 2, pages: 3, '.': 4 }

/** Of the service the console knows shapes, and no code. */
function consoleArrow(path: string, target: string, typeOnly: boolean): string[] {
  if (!target.startsWith('console/'))
    return target.startsWith('src/') && typeOnly ? [] : [`${path} → ${target}: only types of the service`]
  const above = (CONSOLE_RANK[roomOf(target)] ?? 0) > (CONSOLE_RANK[roomOf(path)] ?? 0)
  return above ? [`${path} → ${target}: arrows point down`] : []
}

/** One thing, whose members share all of its state; in two, each would need the other's. */
const LONG_FACTORIES = ['src/budgets/slice-store.ts']

/** Functions and methods by indentation; the formatter makes that reliable. */
function functions(lines: readonly string[]): { start: number; length: number; is_factory: boolean }[] {
  return lines.flatMap((line, index) => {
    const opening =
      /^(\s*)(export (?:default )?)?(async )?(function |(async )?[a-zA-Z]+(<.*>)?\(.*\).*\{$|const \w+ = (async )?\()/.exec(
        line,
      )
    if (!opening || !line.endsWith('{') || /^\s*(if|for|while|switch|return|await)\b/.test(line)) return []
    const indent = opening[1] ?? ''
    const end = lines.findIndex((later, at) => at > index && later.startsWith(`${indent}}`))
    return [{ start: index + 1, length: end - index + 1, is_factory: isFactory(lines.slice(index, end), indent) }]
  })
}

/** It makes a store, or whatever else has members: these are measured each by itself, and it decides nothing. */
const isFactory = (inside: readonly string[], indent: string) =>
  inside.some((line) => line === `${indent}  return {`) && !inside.some((line) => line.startsWith(`${indent}  if `))

/** Outside tests, four parameters at the most; more become a named object. */
function longSignatures(path: string, text: string): string[] {
  const found: string[] = []
  for (const [, name, parameters = ''] of text.matchAll(/function (\w+)[^(]*\(([^)]*)\)/g)) {
    const count = parameters
      .replace(/\{[^}]*\}/g, 'x')
      .replace(/<[^>]*>/g, '')
      .split(',')
      .filter((part) => part.trim() !== '').length
    if (count > PARAMETERS_MAX) found.push(`${path}: ${name} takes ${count} parameters, at most ${PARAMETERS_MAX}`)
  }
  return found
}

/** A route handler decides, stores and answers; more than ten statements belong into the room's rule. */
function longHandlers(path: string, lines: readonly string[]): string[] {
  if (!path.endsWith('-routes.ts')) return []
  return lines.flatMap((line, index) => {
    const opening = /^(\s*)async \(.*\) => \{$/.exec(line)
    if (!opening) return []
    const end = lines.findIndex((later, at) => at > index && later.startsWith(`${opening[1]}}`))
    const statements = lines
      .slice(index + 1, end)
      .filter(
        (inside) =>
          inside.startsWith(`${opening[1]}  `) &&
          /^\s+[^\s})\].?:]/.test(inside) &&
          inside.search(/\S/) === (opening[1] ?? '').length + 2,
      )
    return statements.length > HANDLER_STATEMENTS_MAX
      ? [`${path}:${index + 1}: a handler of ${statements.length} statements`]
      : []
  })
}

function sameNames(tree: readonly Source[]): string[] {
  const byName = new Map<string, string[]>()
  for (const { path } of tree) {
    const name = path.split('/').at(-1) ?? ''
    byName.set(name, [...(byName.get(name) ?? []), path])
  }
  const doubles = [...byName].filter(([name, paths]) => paths.length > 1 && name !== 'main.ts')
  return doubles.map(([, paths]) => `${paths.join(', ')}: file names are unique`)
}

const ENTRY_POINTS = ['src/main.ts', 'cli/main.ts', 'console/main.tsx']

const importedBy = ({ path, text }: Source) =>
  [...text.matchAll(/(?:from |import |import\()'(\.[^']+)'/g)].map(([, specifier]) =>
    new URL(specifier ?? '', `file:///${path}`).pathname.slice(1),
  )

function neverImported(tree: readonly Source[]): string[] {
  const targets = new Set(tree.flatMap(importedBy))
  return tree
    .filter(({ path }) => !targets.has(path) && !ENTRY_POINTS.includes(path))
    .map(({ path }) => `${path}: nobody imports it`)
}

/** Files that import each other in a circle, types included: none can be read before the others. */
function circles(tree: readonly Source[]): string[] {
  const left = new Map(tree.map((source) => [source.path, new Set(importedBy(source))]))
  const isImported = (path: string) => [...left.values()].some((targets) => targets.has(path))
  // Who imports nothing that is left, or is imported by nobody who is, stands in no circle.
  for (let before = -1; before !== left.size; ) {
    before = left.size
    for (const [path, targets] of left)
      if (!isImported(path) || ![...targets].some((target) => left.has(target))) left.delete(path)
  }
  return left.size === 0 ? [] : [`${[...left.keys()].sort().join(', ')}: a circle of imports`]
}
