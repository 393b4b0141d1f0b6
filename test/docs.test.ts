// The documents, compared with the code: what can be checked is checked, so that it cannot drift.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { globSync } from 'tinyglobby'
import { expect, test } from 'vitest'
import { OPENAPI_FILE, openapiText } from '../scripts/write-openapi.ts'
import { Refusal, type RefusalName } from '../src/core/refusal.ts'
import { SECURITY_HEADERS } from '../src/http/answers.ts'
import { SETTINGS } from '../src/start/config.ts'
import { metrics } from '../src/telemetry/metrics.ts'
import { buildTestService } from './support/service.ts'

const read = (path: string) => readFileSync(path, 'utf8')
const DOCUMENTS = globSync(['*.md', 'docs/**/*.md'])
const CONTRACT = 'docs/CONTRACT.md'
const OPERATIONS = 'docs/OPERATIONS.md'
const DECISIONS = 'docs/decisions'
const RULINGS = [...count(1, 15), ...count(20, 27), ...count(40, 53), ...count(60, 65), ...count(70, 84)]
/** Sections whose rules are numbered, and how many each has. */
const NUMBERED_RULES: [section: string, rules: number][] = [
  ['2.1', 3],
  ['4.1', 2],
  ['5', 9],
  ['8.1', 3],
  ['8.2', 3],
  ['9', 4],
  ['11', 9],
]

test('the settings table of OPERATIONS is that of src/start/config.ts', () => {
  const settings = Object.entries(SETTINGS).map(([name, setting]) => [
    'secret' in setting ? `\`${name}\` or \`${name}_FILE\`` : `\`${name}\``,
    setting.meaning,
    setting.default,
  ])
  expect(table(OPERATIONS, '## Settings')).toEqual(settings)
})

test('the metrics table of OPERATIONS is that of src/telemetry/metrics.ts', () => {
  const own = metrics().registry.getMetricsAsArray() as unknown as Metric[]
  const rows = own
    .filter(({ name }) => name.startsWith('switchyard_'))
    .map(({ name, type, labelNames, help }) => [`\`${name}\``, type, labelNames.map(code).join(', '), help])
  expect(table(OPERATIONS, '## Metrics')).toEqual(rows)
})

test('§7 the table of refusals is that of src/core/refusal.ts', () => {
  // The table itself is private to its file: its names are read there, what they mean is asked of the class.
  const names = [...read('src/core/refusal.ts').matchAll(/^ {2}(\w+): \{ status: \d+/gm)].map(([, name]) => name)
  expect(names.length).toBeGreaterThan(10)
  const refusals = names.map((name) => {
    const { status, body } = new Refusal(name as RefusalName, 'no')
    return [String(status), code(body.error.type), body.error.code ? code(body.error.code) : '']
  })
  const rows = table(CONTRACT, '## 7 Errors').map(([status, type, identifier]) => [status, type, identifier])
  expect(rows).toEqual(refusals)
})

test('§10 every header is in the sources, and every Agent header of the sources is here', () => {
  const sources = globSync('src/**/*.ts', { ignore: '**/*.test.ts' })
    .map((path) => read(path).toLowerCase())
    .join('\n')
  const headers = ['### 10.1 Request headers', '### 10.2 Response headers'].flatMap((heading) =>
    table(CONTRACT, heading),
  )
  const documented = headers.map(([header]) => bare(header).toLowerCase())
  expect(documented.length).toBeGreaterThan(20)
  expect(documented.filter((header) => !sources.includes(header))).toEqual([])

  const sent = [...sources.matchAll(/'(agent-[a-z]+(?:-[a-z]+)+)'/g)].map(([, header]) => header)
  expect(sent.filter((header) => !documented.includes(header ?? ''))).toEqual([])
})

test('§10 openapi.json describes the headers of requests and answers', () => {
  const { headers, parameters } = JSON.parse(read(OPENAPI_FILE)).components
  const described = Object.keys({ ...headers, ...parameters })
  // Allow: of no endpoint's answer
  const elsewhere = ['Authorization', 'Content-Type', 'Content-Encoding', 'Agent-Idempotency-Key', 'Allow']
  for (const heading of ['### 10.1 Request headers', '### 10.2 Response headers'])
    for (const [header] of table(CONTRACT, heading)) expect([...described, ...elsewhere]).toContain(bare(header))
})

test('§10.2 the security headers are those that every answer has', () => {
  const rows = table(CONTRACT, '### 10.2 Response headers', 1).map(([header, value]) => [
    bare(header),
    /`([^`]+)`/.exec(value ?? '')?.[1],
  ])
  expect(Object.fromEntries(rows)).toEqual(SECURITY_HEADERS)
})

test('§4 R3 the endpoints are those of the routes, each with its scope', async () => {
  const { routes, stop } = await buildTestService()
  await stop()
  const declared = routes
    .filter(({ method, config }) => method !== 'HEAD' && !config?.public)
    .map(({ method, url, config }) => `${method} ${url.replace(/:(\w+)/g, '{$1}')} needs ${config?.scope}`)
  const described = section(CONTRACT, '## 4 Endpoints').matchAll(/^`([A-Z]+ \/v\d\/\S+)`, scope `(\w+)`/gm)
  const listed = ['### 4.10 Further endpoints', '### 4.11 Generations']
    .flatMap((heading) => table(CONTRACT, heading))
    .map(([endpoint, scope]) => [bare(endpoint), bare(scope)])
  const documented = [...[...described].map(([, endpoint, scope]) => [endpoint, scope]), ...listed]
  expect(documented.map(([endpoint, scope]) => `${endpoint} needs ${scope}`).sort()).toEqual(declared.sort())
})

test('docs/openapi.json is current', async () => {
  const current = await openapiText()
  expect(read(OPENAPI_FILE) === current, 'docs/openapi.json is stale: run `npm run openapi`').toBe(true)
})

test('every numbered rule of the contract has its anchor, and every anchor its number', () => {
  const text = read(CONTRACT)
  const rules = NUMBERED_RULES.flatMap(([section, last]) => count(1, last).map((n) => `${section}.${n}`))
  const marked = [...text.matchAll(/^<a id="s([\d-]+)"><\/a>\n\*\*§([\d.]+)\*\* /gm)]
  expect(marked.map(([, , rule]) => rule)).toEqual(rules)
  expect(marked.map(([, anchor]) => anchor)).toEqual(rules.map((rule) => rule.replaceAll('.', '-')))
})

test('every ruling is cited in the contract and has a record', () => {
  const text = read(CONTRACT)
  const cited = (number: number) => new RegExp(`\\bR${number}\\b`).test(text)
  expect(RULINGS.filter((number) => !cited(number))).toEqual([])

  const records = globSync(`${DECISIONS}/0*.md`)
  const hasRecord = (number: number) =>
    records.some((path) => path.includes(`/${pad(number)}-`) && read(path).startsWith(`# R${number}. `))
  expect(RULINGS.filter((number) => !hasRecord(number))).toEqual([])
})

test('every decision is linked from the index, under its own title and in its order', () => {
  const index = read(`${DECISIONS}/README.md`)
  const missing = globSync(`${DECISIONS}/0*.md`).filter((path) => {
    const [, number, title] = /^# (R\d+|\d{4})\. (.+)$/m.exec(read(path)) ?? []
    return !index.includes(`| [${number}](${path.slice(DECISIONS.length + 1)}) | ${title} |`)
  })
  expect(missing).toEqual([])
  const listed = [...index.matchAll(/^\| \[(R?\d+)\]/gm)].map(([, number = '']) => number)
  const inOrder = (numbers: string[]) =>
    numbers.toSorted((a, b) => Number(a.replace('R', '')) - Number(b.replace('R', '')))
  const readings = listed.filter((number) => number.startsWith('R'))
  expect(listed).toEqual([...inOrder(readings), ...inOrder(listed.slice(readings.length))])
})

test('every relative link resolves, anchors included', () => {
  const broken = DOCUMENTS.flatMap((path) =>
    [...withoutCode(read(path)).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link = '']) => link)
      .filter((link) => !/^[a-z]+:/.test(link) && !resolves(path, link))
      .map((link) => `${path}: ${link}`),
  )
  expect(broken).toEqual([])
})

test('a document that begins with a list of its sections lists all of them, in their order', () => {
  const lists = DOCUMENTS.flatMap((path) => {
    const [opening = '', ...sections] = read(path).split(/^## /m)
    const listed = [...opening.matchAll(/^- \[(.+)\]\(#/gm)].map(([, title]) => title)
    return listed.length === 0 ? [] : [{ path, listed, has: sections.map((section) => section.split('\n')[0]) }]
  })
  expect(lists.map(({ path }) => path)).toEqual(expect.arrayContaining([OPERATIONS, CONTRACT]))
  for (const { path, listed, has } of lists) expect({ path, listed }).toEqual({ path, listed: has })
})

test('every file that a document names exists', () => {
  const missing = DOCUMENTS.flatMap((path) =>
    [...read(path).matchAll(/`([\w.-]+(?:\/[\w.-]+)+\.(?:ts|md|json))`/g)]
      .map(([, file = '']) => file)
      .filter((file) => !/^(\.\/|dist\/)/.test(file))
      .filter((file) => ![file, join('src', file)].some((place) => existsSync(place)))
      .map((file) => `${path}: ${file}`),
  )
  expect(missing).toEqual([])
})

test('every test that SECURITY.md names exists, in the file that it names', () => {
  const cells = [...read('SECURITY.md').matchAll(/`([\w./-]+\.test\.ts)`((?: “[^”]+”,?)+)/g)]
  const named = cells.flatMap(([, file = '', titles = '']) =>
    [...titles.matchAll(/“([^”]+)”/g)].map(([, title = '']) => ({ file, title })),
  )
  expect(named.length).toBeGreaterThan(40)
  expect(named.filter(({ file, title }) => !existsSync(file) || !read(file).includes(`'${title}'`))).toEqual([])
})

test('every npm script that a document names exists', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const unknown = DOCUMENTS.flatMap((path) =>
    [...read(path).matchAll(/npm (?:run )?([a-z][a-z0-9:-]*)/g)]
      .map(([, name = '']) => name)
      .filter((name) => name !== 'ci' && name !== 'run' && !(name in scripts) && name !== 'package')
      .map((name) => `${path}: npm run ${name}`),
  )
  expect(unknown).toEqual([])
})

test('the README shows the two lines that need nothing else', () => {
  const lines = read('README.md').split('\n')
  expect(lines).toContain('npm ci && npm start')
  expect(lines).toContain('npm ci && npm test')
})

interface Metric {
  name: string
  type: string
  help: string
  labelNames: string[]
}

function count(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, at) => first + at)
}

const code = (text: string) => `\`${text}\``
const bare = (cell = '') => cell.replaceAll('`', '')
const pad = (number: number) => String(number).padStart(4, '0')

/** From a heading to the next one that is not below it. */
function section(path: string, heading: string): string {
  const lines = read(path).split('\n')
  const start = lines.indexOf(heading)
  if (start < 0) throw new Error(`${path} has no heading '${heading}'`)
  const depth = heading.search(/[^#]/)
  const length = lines.slice(start + 1).findIndex((line) => /^#+ /.test(line) && line.search(/[^#]/) <= depth)
  return lines.slice(start, length < 0 ? undefined : start + 1 + length).join('\n')
}

/** The body of the nth table below a heading: rows of cells. */
function table(path: string, heading: string, nth = 0): string[][] {
  const tables = section(path, heading).match(/^(\|.*\n?)+/gm) ?? []
  const rows = (tables[nth] ?? '').trim().split('\n').slice(2)
  return rows.map((row) =>
    row
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  )
}

const withoutCode = (text: string) => text.replace(/^```[\s\S]*?^```/gm, '')

function resolves(path: string, link: string): boolean {
  const [file = '', anchor] = link.split('#')
  const target = file === '' ? path : join(dirname(path), decodeURIComponent(file))
  return existsSync(target) && (anchor === undefined || anchorsOf(target).includes(anchor))
}

/** Explicit ones, and those that a reader makes of headings: lower case, no punctuation, hyphens for blanks. */
function anchorsOf(path: string): string[] {
  const text = withoutCode(read(path))
  const explicit = [...text.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id)
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
  return [...explicit, ...headings]
}

test('every T and F number that a test or a source names is defined', () => {
  const defined = read('docs/TESTING.md')
  const files = globSync(['{src,test,cli,console,bench}/**/*.{ts,tsx}'])
  const named = files.flatMap((path) => read(path).match(/(?<![%\w])(?:T-\d{2,3}|F\d{1,2})(?=[ ,:)\].])/g) ?? [])
  const missing = [...new Set(named)].filter((name) => !defined.includes(`| ${name} |`))
  expect(missing).toEqual([])
  expect(new Set(named).size).toBeGreaterThan(80)
})
