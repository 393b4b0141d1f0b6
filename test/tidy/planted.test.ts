// Each rule of the house is shown to fail: a small tidy tree, one violation planted at a time, one message expected.
import { expect, test } from 'vitest'
import { type Source, violations } from './rules.ts'

const HEAD = '// What lives here.\n'

/** A house with every kind of file in it, where everything is in order. */
const TIDY: Record<string, string> = {
  'src/main.ts': `${HEAD}import { buildService } from './app.ts'\nimport { openSqlite } from './storage/sqlite.ts'\n`,
  'src/app.ts': `${HEAD}import { keyRoutes } from './keys/key-routes.ts'\nimport { plan } from './plans/plan.ts'\n`,
  'src/start/config.ts': `${HEAD}export const env = process.env\n`,
  'src/core/clock.ts': `${HEAD}export const now = () => Date.now()\n`,
  'src/storage/db.ts': `${HEAD}import { now } from '../core/clock.ts'\n`,
  'src/storage/sqlite.ts': `${HEAD}import { sql } from './db.ts'\n`,
  'src/http/fastify.ts': `${HEAD}import Fastify from 'fastify'\n`,
  'src/keys/key.ts': `${HEAD}import { hash } from 'node:crypto'\nimport { now } from '../core/clock.ts'\n`,
  'src/keys/key-store.ts': `${HEAD}import { sql } from '../storage/db.ts'\nimport type { Key } from './key.ts'\n`,
  'src/keys/key-routes.ts': `${HEAD}import { app } from '../http/fastify.ts'\nimport { keyStore } from './key-store.ts'\n`,
  'src/plans/plan.ts': `${HEAD}import { mint } from '../keys/key.ts'\n`,
  'console/main.tsx': `${HEAD}import { App } from './app.tsx'\n`,
  'console/app.tsx': `${HEAD}const Page = lazy(() => import('./pages/keys-page.tsx'))\n`,
  'console/pages/keys-page.tsx': `${HEAD}import { ask } from '../api/key-calls.ts'\n`,
  'console/api/key-calls.ts': `${HEAD}import type { Key } from '../../src/keys/key.ts'\n`,
  'cli/main.ts': `#!/usr/bin/env node\n${HEAD}import { readConfig } from '../src/start/config.ts'\n`,
}

const treeWith = (changes: Record<string, string>): Source[] =>
  Object.entries({ ...TIDY, ...changes }).map(([path, text]) => ({ path, text }))

const lines = (count: number, line: string) => Array(count).fill(line).join('\n')
const key = (more: string) => ({ 'src/keys/key.ts': `${TIDY['src/keys/key.ts']}${more}\n` })

test('house: the tree that the violations are planted in is tidy', () => {
  expect(violations(treeWith({}))).toEqual([])
})

const PLANTED: [string, Record<string, string>, RegExp][] = [
  ['a file of 301 lines', key(lines(298, '// x')), /^src\/keys\/key\.ts: 301 lines/],
  ['a function of 61 lines', key(`function long() {\n${lines(59, '  x()')}\n}`), /key\.ts:4: a function of 61 lines/],
  [
    'a factory of 201 lines',
    key(`function store() {\n${lines(197, '  x()')}\n  return {\n  }\n}`),
    /key\.ts:4: a factory of 201 lines/,
  ],
  ['a line of 121 characters', key(`// ${'x'.repeat(118)}`), /key\.ts:4: a line of 121/],
  ['five parameters', key('function f(a: A, b: B, c: C, d: D, e: E) {}'), /f takes 5 parameters/],
  ['no word about what lives there', { 'src/plans/plan.ts': 'export const x = 1\n' }, /plan\.ts: the first line/],
  [
    'a dumping ground',
    { 'src/app.ts': `${TIDY['src/app.ts']}import './keys/key-utils.ts'\n`, 'src/keys/key-utils.ts': HEAD },
    /key-utils\.ts: name it after what it holds/,
  ],
  [
    'a name in camel case',
    { 'src/app.ts': `${TIDY['src/app.ts']}import './keys/keyThing.ts'\n`, 'src/keys/keyThing.ts': HEAD },
    /keyThing\.ts: file names are kebab-case/,
  ],
  [
    'one name twice',
    { 'src/app.ts': `${TIDY['src/app.ts']}import './plans/key.ts'\n`, 'src/plans/key.ts': HEAD },
    /src\/keys\/key\.ts, src\/plans\/key\.ts: file names are unique/,
  ],
  [
    'a circle of types',
    {
      'src/core/clock.ts': `${TIDY['src/core/clock.ts']}import type { Id } from './ids.ts'\n`,
      'src/core/ids.ts': `${HEAD}import type { Clock } from './clock.ts'\n`,
    },
    /src\/core\/clock\.ts, .*src\/core\/ids\.ts.*: a circle of imports/,
  ],
  ['a file that nobody imports', { 'src/keys/spare-key.ts': HEAD }, /spare-key\.ts: nobody imports it/],
  ['a clock of its own', key('const at = Date.now()'), /take `now` from a Clock/],
  ['a date of its own', key('const at = new Date()'), /take `now` from a Clock/],
  ['randomness of its own', key('const n = Math.random()'), /take randomness from core\/ids\.ts/],
  ['a setting read in a room', key('const x = process.env.X'), /read settings in config\.ts/],
  ['console', key("console.log('x')"), /log through the logger/],
  ['any', key('const x = y as any'), /say what it is/],
  ['a suppressed error', key('// @ts-ignore'), /say what it is/],
  ['something left for later', key('// TODO later'), /do it now/],
  ['SQL built from text', key(`db.query(\`SELECT ${'$'}{x}\`)`), /bind values, never build SQL/],
  ['a rule with a library', key("import pg from 'pg'"), /key\.ts: a rule imports 'pg'/],
  ['an import without its ending', key("import { x } from '../core/clock'"), /must name the file, ending in \.ts/],
  [
    'an arrow that points up',
    { 'src/core/clock.ts': `${TIDY['src/core/clock.ts']}import { k } from '../keys/key.ts'\n` },
    /arrows point down/,
  ],
  [
    'http that knows a room',
    { 'src/http/fastify.ts': `${TIDY['src/http/fastify.ts']}import { k } from '../keys/key.ts'\n` },
    /arrows point down/,
  ],
  [
    'a room that knows another’s store',
    { 'src/plans/plan.ts': `${TIDY['src/plans/plan.ts']}import type { S } from '../keys/key-store.ts'\n` },
    /a room sees only another room's rules/,
  ],
  ['a rule that knows storage', key("import { sql } from '../storage/db.ts'"), /a rule knows no HTTP and no storage/],
  ['a rule that knows HTTP', key("import { app } from '../http/fastify.ts'"), /a rule knows no HTTP and no storage/],
  [
    'a rule that knows its own store',
    key("import { keyStore } from './key-store.ts'"),
    /a rule knows no store and no routes/,
  ],
  [
    'a room that opens a database',
    { 'src/keys/key-store.ts': `${TIDY['src/keys/key-store.ts']}import { openSqlite } from '../storage/sqlite.ts'\n` },
    /only what starts or operates it opens a database/,
  ],
  [
    'src that knows the tests',
    key("import { x } from '../../test/support/clock.ts'"),
    /the service knows nothing outside src/,
  ],
  [
    'a command that reaches into a room',
    { 'cli/main.ts': `${TIDY['cli/main.ts']}import { mint } from '../src/keys/key.ts'\n` },
    /only types, or the service's entry points/,
  ],
  [
    'a page with the service’s code in it',
    { 'console/app.tsx': `${TIDY['console/app.tsx']}import { mint } from '../src/keys/key.ts'\n` },
    /console\/app\.tsx → src\/keys\/key\.ts: only types of the service/,
  ],
  [
    'a part of the console that knows its pages',
    {
      'console/api/key-calls.ts': `${TIDY['console/api/key-calls.ts']}import { x } from '../pages/keys-page.tsx'\n`,
    },
    /key-calls\.ts → console\/pages\/keys-page\.tsx: arrows point down/,
  ],
  [
    'a browser with files',
    { 'console/app.tsx': `${TIDY['console/app.tsx']}import { readFileSync } from 'node:fs'\n` },
    /a browser has no 'node:fs'/,
  ],
  [
    'markup written past React',
    { 'console/app.tsx': `${TIDY['console/app.tsx']}root.innerHTML = text\n` },
    /let React write the page/,
  ],
  [
    'a handler of eleven statements',
    {
      'src/keys/key-routes.ts': `${TIDY['src/keys/key-routes.ts']}app.get(\n  async () => {\n${lines(11, '    x()')}\n  },\n)\n`,
    },
    /key-routes\.ts:5: a handler of 11 statements/,
  ],
]

test.each(PLANTED)('house: %s is refused', (_what, change, message) => {
  const found = violations(treeWith(change))
  expect(found.filter((one) => message.test(one))).toHaveLength(1)
})

test('house: types of another kind of file may be known where values may not', () => {
  const allowed = {
    'src/keys/key-use.ts': `${HEAD}import type { KeyStore } from './key-store.ts'\n`,
    'src/app.ts': `${TIDY['src/app.ts']}import './keys/key-use.ts'\n`,
    'cli/main.ts': `${TIDY['cli/main.ts']}import type { Key } from '../src/keys/key.ts'\n`,
  }
  expect(violations(treeWith(allowed))).toEqual([])
})
