// The list of suites that run on both engines is derived from their imports; here, that it leaves none out.

import { existsSync, readFileSync } from 'node:fs'
import { globSync } from 'tinyglobby'
import { expect, test } from 'vitest'
import { SAME_ON_BOTH, suiteNeeds, suitesOf } from './suite-needs.ts'

const TREE: Record<string, string> = {
  'test/support/databases.ts': "import { Pool } from 'pg'",
  'test/support/service.ts': "import {\n  freshDb,\n  ENGINE,\n} from './databases.ts'",
  'test/support/scene.ts': "export { startService } from './service.ts'",
  'test/support/redis-server.ts': "import { Redis } from 'ioredis'",
  'test/console/chromium.ts': '',
  'src/direct.test.ts': "import { withDb } from '../test/support/databases.ts'",
  'src/by-way.test.ts': "import { expect } from 'vitest'\nimport { startService } from '../test/support/scene.ts'",
  'src/types.test.ts': "import type { TestDb } from '../test/support/databases.ts'\nimport { rule } from './rule.ts'",
  'src/later.test.ts': "const { freshDb } = await import('../test/support/databases.ts')",
  'src/effect.test.ts': "import '../test/support/databases.ts'",
  'src/redis.test.ts': "import { ownRedisServer } from '../test/support/redis-server.ts'",
  'src/pure.test.ts': "import { expect } from 'vitest'\nimport { rule } from './rule.ts'",
  'src/rule.ts': "import { never } from '../test/support/databases.ts'",
  'test/console/keys.test.ts': "import { startChromium } from './chromium.ts'",
}

const { runsOnPostgres, partsOf } = suiteNeeds((path) => TREE[path])

test.each([
  ['src/direct.test.ts', true],
  ['src/by-way.test.ts', true],
  ['src/later.test.ts', true],
  ['src/effect.test.ts', true],
  ['src/redis.test.ts', true],
  ['src/types.test.ts', false],
  ['src/pure.test.ts', false],
])('§tests %s runs on PostgreSQL: %s', (suite, runs) => {
  expect(runsOnPostgres(suite)).toBe(runs)
})

test('§tests a suite needs what it reaches, and what its engine needs', () => {
  expect(partsOf('src/by-way.test.ts', 'sqlite')).toEqual([])
  expect(partsOf('src/by-way.test.ts', 'postgres')).toEqual(['PostgreSQL', 'Redis'])
  expect(partsOf('src/redis.test.ts', 'postgres')).toEqual(['Redis'])
  expect(partsOf('test/console/keys.test.ts', 'sqlite')).toEqual(['Chromium'])
  expect(partsOf('src/pure.test.ts', 'postgres')).toEqual([])
})

test('§tests nothing but databases.ts says which engine a run is for: who does not reach it cannot tell', () => {
  const readers = globSync('{src,cli,test,bench,scripts,console}/**/*.{ts,tsx,mjs}').filter(
    (path) => !path.endsWith('suite-needs.test.ts') && readFileSync(path, 'utf8').includes('TEST_ENGINE'),
  )
  expect(readers).toEqual(['test/support/databases.ts'])
})

test('§tests every suite of ours that opens a database, or asks for an engine, is among those of PostgreSQL, or is said to be the same', () => {
  const paths = suitesOf('postgres').map(({ path }) => path)
  const opening = globSync(['src/**/*.test.ts', 'test/{spec,sim}/**/*.test.ts']).filter((path) =>
    /\b(withDb|freshDb|withService|startService|buildTestService|newSettings|ENGINE)\b/.test(
      readFileSync(path, 'utf8'),
    ),
  )
  expect(opening.length).toBeGreaterThan(50)
  expect(opening.filter((path) => !paths.includes(path) && !SAME_ON_BOTH.includes(path))).toEqual([])
  expect(SAME_ON_BOTH.filter((path) => !existsSync(path))).toEqual([])
})
