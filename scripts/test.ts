// `npm test`: everything, over every engine. Finds or installs what it needs before the first suite starts, and starts
// it. Where something cannot be had, the suites that do without run all the same; then the run fails and says what is
// missing and which suites that kept from running.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endsWithUs } from '../test/support/ends-with-us.ts'
import { MACHINE_PARTS, PARTS, type Part } from '../test/support/machine-parts.ts'
import { postgresServer } from '../test/support/postgres-server.ts'
import { type Missing, provision } from '../test/support/provision.ts'
import { redisServer } from '../test/support/redis-server.ts'
import { NEEDING_PROJECTS, type Project, suitesOf } from '../test/support/suite-needs.ts'
import { makeTemplate } from '../test/support/template-database.ts'

const say = (text: string) => void process.stdout.write(`${text}\n`)
const args = process.argv.slice(2)
const report = join(tmpdir(), `switchyard-tests-${process.pid}.json`)

const projects = projectsIn(args)
const wanted = partsFor(projects)
const missing = await provision(wanted, say)
const has = (part: Part) => wanted.includes(part) && !missing.some((one) => one.part === part)
const postgres = has('PostgreSQL') ? await postgresServer(say) : undefined
const template = postgres && (await makeTemplate(postgres.url))
const redis = has('Redis') ? await redisServer(say) : undefined
const chromium = has('Chromium') ? (process.env.CHROMIUM ?? MACHINE_PARTS.Chromium.find()) : undefined
// One more than there are cores to keep busy at the least: the longest suites mostly wait for servers and browsers.
const WORKERS = 3
const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
// What one project has transformed, the others read; the next run begins anew, lest old versions pile up.
const modules = mkdtempSync(join(tmpdir(), 'switchyard-modules-'))
const caching = ['--experimental.fsModuleCache', `--experimental.fsModuleCachePath=${modules}`]
const code = await run(
  process.execPath,
  ['node_modules/vitest/vitest.mjs', 'run', `--maxWorkers=${WORKERS}`, ...reporters, ...caching, ...args],
  {
    ...process.env,
    ...(postgres && { TEST_DATABASE_URL: postgres.url, TEST_TEMPLATE: template?.name }),
    ...(redis && { TEST_REDIS_URL: redis.url }),
    ...(chromium && { CHROMIUM: chromium }),
    TEST_MISSING: missing.map(({ part }) => part).join(','),
  },
)
rmSync(modules, { recursive: true, force: true })
await template?.drop()
await Promise.all([postgres?.stop(), redis?.stop()])

const failed = conclude(code)
for (const one of missing) sayNotRun(one)
process.exitCode = failed || missing.length > 0 ? 1 : 0

/** Those that are asked for and need something; all of these, where none is named. */
function projectsIn(given: readonly string[]): Project[] {
  const named = given.flatMap((one, n) => {
    if (one === '--project') return given[n + 1] ?? []
    return one.startsWith('--project=') ? one.slice('--project='.length) : []
  })
  return NEEDING_PROJECTS.filter((project) => named.length === 0 || named.includes(project))
}

function partsFor(asked: readonly Project[]): Part[] {
  const needed = new Set(asked.flatMap((project) => suitesOf(project).flatMap(({ parts }) => parts)))
  return PARTS.filter((part) => needed.has(part))
}

/** Says how many passed, and returns whether any failed. */
function conclude(status: number): boolean {
  const counts = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : { numTotalTests: 0 }
  rmSync(report, { force: true })
  const { numPassedTests = 0, numFailedTests = 0, numPendingTests = 0, numTotalTests } = counts
  if (numTotalTests === 0) say('No test ran.')
  // A file that could not be loaded has no tests to count, but fails the run all the same.
  const broken = numFailedTests === 0 && status !== 0 ? 1 : numFailedTests
  say(`${numPassedTests} passed, ${broken} failed${numPendingTests ? `, ${numPendingTests} skipped` : ''}`)
  return broken > 0 || numTotalTests === 0
}

function sayNotRun({ part, why }: Missing): void {
  const suites = projects.flatMap((project) =>
    suitesOf(project)
      .filter(({ parts }) => parts.includes(part))
      .map(({ path }) => `  ${project}: ${path}`),
  )
  say(`\nFAILED for want of ${part}. ${suites.length} suites did not run:\n${suites.join('\n')}\n${why}`)
}

function run(command: string, given: string[], env: NodeJS.ProcessEnv): Promise<number> {
  return new Promise((done) => {
    const child = spawn(command, given, { stdio: 'inherit', env }).once('exit', (status) => done(status ?? 1))
    endsWithUs(child)
  })
}
