// `npm test`: everything, over every engine. Finds or installs what it needs before the first suite starts, and starts
// it. Where something cannot be had, the suites that do without run all the same; then the run fails and says what is
// missing and which suites that kept from running.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endsWithUs } from '../test/support/ends-with-us.ts'
import { filesThatFailed, outcomeOf, type Report } from '../test/support/failed-tests.ts'
import { MACHINE_PARTS, PARTS, type Part } from '../test/support/machine-parts.ts'
import { FEWER, machineSpeed, SMALLER } from '../test/support/machine-speed.ts'
import { postgresServer } from '../test/support/postgres-server.ts'
import { type Missing, provision } from '../test/support/provision.ts'
import { redisServer } from '../test/support/redis-server.ts'
import { leftOutOf, NEEDING_PROJECTS, type Project, suitesOf } from '../test/support/suite-needs.ts'
import { makeTemplate } from '../test/support/template-database.ts'

const say = (text: string) => void process.stdout.write(`${text}\n`)
const args = process.argv.slice(2)
// Two at a time, and whichever ends first makes room for the next. Tortures mostly wait for servers that they start and
// kill: beside them, the other suites have work for both cores. The short ones come last, so that no core is idle for long.
const RUNS = [['slow'], ['console', 'postgres'], ['thorough'], ['fast']] as const
const AT_ONCE = 2
const WORKERS = 2 // of each; with as many as that, each module is loaded twice for a project and no more
// Most of what suites run is run a few times: V8 would spend an eighth of all processor time on compiling it for speed.
const V8 = ['--interrupt-budget=540000'] // four times the usual number of steps before it does
const MOST_AGAIN = 5 // files of one run; where more failed, time was not to blame
const runs = args.length > 0 ? [args] : RUNS.map((projects) => projects.map((name) => `--project=${name}`))

const projects = projectsIn(args)
const wanted = partsFor(projects)
const missing = await provision(wanted, say)
const has = (part: Part) => wanted.includes(part) && !missing.some((one) => one.part === part)
const postgres = has('PostgreSQL') ? await postgresServer(say) : undefined
const template = postgres && (await makeTemplate(postgres.url))
const redis = has('Redis') ? await redisServer(say) : undefined
const chromium = has('Chromium') ? (process.env.CHROMIUM ?? MACHINE_PARTS.Chromium.find()) : undefined
// What one project has transformed, the others read; the next run begins anew, lest old versions pile up.
const made = mkdtempSync(join(tmpdir(), 'switchyard-tests-'))
const modules = ['--experimental.fsModuleCache', `--experimental.fsModuleCachePath=${join(made, 'modules')}`]
const speed = args.length === 0 ? machineSpeed() : 'usual'
const SAID = 'some suites are smaller, planted bugs and first builds of Go are left out'
if (speed !== 'usual') say(`This machine is ${speed}: ${SAID}${speed === 'slow' ? '' : ', and these suites'}.`)
if (speed === 'very slow') for (const { project, path } of leftOutOf(NEEDING_PROJECTS)) say(`  ${project}: ${path}`)
const env = {
  ...{ usual: {}, slow: SMALLER, 'very slow': FEWER }[speed],
  ...process.env,
  ...(postgres && { TEST_DATABASE_URL: postgres.url, TEST_TEMPLATE: template?.name }),
  ...(redis && { TEST_REDIS_URL: redis.url }),
  ...(chromium && { CHROMIUM: chromium }),
  TEST_MISSING: missing.map(({ part }) => part).join(','),
}
const ended: Ended[] = []
const left = [...runs.entries()]
const inTurn = async () => {
  for (let next = left.shift(); next; next = left.shift())
    ended.push(await vitest(next[1], join(made, `${next[0]}.json`)))
}
await Promise.all(Array.from({ length: AT_ONCE }, inTurn))
if (process.env.TEST_AGAIN) await runAgain()
await template?.drop()
await Promise.all([postgres?.stop(), redis?.stop()])

const failed = conclude(ended)
rmSync(made, { recursive: true, force: true })
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

interface Ended {
  given: readonly string[]
  status: number
  /** Where it left its figures. */
  report: string
  /** Its files in which something failed, run once more and alone. */
  again?: Ended
}

/** Torture is not run again: what races or kills find once is a fault, however seldom. */
async function runAgain(): Promise<void> {
  for (const one of ended) {
    const files = filesThatFailed(reportOf(one)).filter((file) => !file.includes('/test/slow/torture-'))
    if (files.length === 0 || files.length > MOST_AGAIN) continue
    say(`Run again: ${files.join(' ')}`)
    one.again = await vitest([...one.given, ...files], `${one.report}.again`)
  }
}

/** Says which failed, since runs beside each other bury it, and how many passed; returns whether any failed. */
function conclude(all: readonly Ended[]): boolean {
  const sum = { passed: 0, failed: 0, skipped: 0, flaky: 0 }
  for (const one of all) {
    const { passed, skipped, failed: broken, flaky } = outcomeOf(reportOf(one), reportOf(one.again), process.cwd())
    for (const told of broken) say(`FAILED ${told}`)
    for (const told of flaky) say(`FLAKY, passed when run again: ${told}`)
    sum.passed += passed
    sum.skipped += skipped
    sum.flaky += flaky.length
    // A run can fail without a test that did: of an error that no test awaited.
    sum.failed += broken.length || ((one.again ?? one).status === 0 ? 0 : 1)
  }
  const total = sum.passed + sum.failed + sum.skipped + sum.flaky
  if (total === 0) say('No test ran.')
  const some = (count: number, word: string) => (count > 0 ? `, ${count} ${word}` : '')
  say(`${sum.passed} passed, ${sum.failed} failed${some(sum.flaky, 'flaky')}${some(sum.skipped, 'skipped')}`)
  return sum.failed > 0 || total === 0
}

function reportOf(one?: Ended): Report {
  return one && existsSync(one.report) ? JSON.parse(readFileSync(one.report, 'utf8')) : {}
}

function sayNotRun({ part, why }: Missing): void {
  const suites = projects.flatMap((project) =>
    suitesOf(project)
      .filter(({ parts }) => parts.includes(part))
      .map(({ path }) => `  ${project}: ${path}`),
  )
  say(`\nFAILED for want of ${part}. ${suites.length} suites did not run:\n${suites.join('\n')}\n${why}`)
}

function vitest(given: readonly string[], report: string): Promise<Ended> {
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const options = ['run', `--maxWorkers=${WORKERS}`, ...reporters, ...modules, ...given]
  return new Promise((done) => {
    const child = spawn(process.execPath, [...V8, 'node_modules/vitest/vitest.mjs', ...options], {
      stdio: 'inherit',
      env,
    })
    child.once('exit', (status) => done({ given, status: status ?? 1, report }))
    endsWithUs(child)
  })
}
