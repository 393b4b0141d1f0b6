// Which suites there are, and what each needs. `npm run check` runs `fast`; `npm test` runs them all.
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import type { Part } from './test/support/machine-parts.ts'
import { isLeftOut, type Project, suitesOf } from './test/support/suite-needs.ts'

const spec = ['src/**/*.test.ts', 'test/spec/**/*.test.ts']
// Suites that start processes, hash passwords, run models, or take a second of processor time for whatever else: a quick
// check goes without them.
const thorough = [
  'bench/usage-load.test.ts',
  'cli/**/*.test.ts',
  'test/sim/**/*.test.ts',
  'test/build.test.ts',
  'test/support/{ends-with-us,provision}.test.ts',
  'test/spec/05-{accounts,authentication,browsers,issuers,second-factor}.test.ts',
  'test/spec/08-*limit*.test.ts',
  'test/spec/{event-stream,notifications,notification-turns,operator,outage,purge-worlds,replay-runs}.test.ts',
  'test/spec/inference-*.test.ts',
  'test/spec/v1-*.test.ts',
  'test/spec/upstream*.test.ts',
  'src/accounts/**/*-routes.test.ts',
  'src/answers/event-watch.test.ts',
  'src/artifacts/artifact-{quota,routes}.test.ts',
  'src/capacity/{admission-properties,slot-share}.test.ts',
  'src/core/json-steps.test.ts',
  'src/counters/memory.test.ts',
  'src/http/reference.test.ts',
  'src/limits/{policy,sliding-window}.test.ts',
  'src/providers/anthropic/anthropic-stream.test.ts',
  'src/providers/http1-answer.test.ts',
  'src/recordings/{kept-recording,recorder}.test.ts',
  'src/responses/from-chat.test.ts',
  'src/reuse/reuse.test.ts',
  'src/start/open-tracing.test.ts',
  'src/storage/sqlite.test.ts',
]
// Suites of what only a cluster has. They run with the other engine, since a quick check should need no Redis.
const clustered = ['src/counters/redis*.test.ts', 'test/spec/redis-*.test.ts']
// Threads without isolation: modules are loaded once, and the suites keep to their own databases.
const shared = {
  pool: 'threads',
  isolate: false,
  testTimeout: 60_000,
  hookTimeout: 60_000,
  expect: { poll: { timeout: 20_000 } }, // a busy machine may take a while
} as const

// `npm test` names what could not be had: it runs the suites that need none of it, then fails.
const missing = (process.env.TEST_MISSING ?? '').split(',') as Part[]
const are_fewer = process.env.TEST_SUITES === 'fewer' // on a very slow machine
const runnable = (project: Project) =>
  suitesOf(project)
    .filter(({ parts }) => !parts.some((part) => missing.includes(part)))
    .filter(({ path }) => !are_fewer || !isLeftOut(project, path))
    .map(({ path }) => path)

// The longest first, lest one of them is left to run alone at the end. Those of a project stay together, since a worker
// keeps what it loaded for one.
const ORDER = ['slow', 'console', 'thorough', 'postgres', 'fast']
class LongestFirst extends BaseSequencer {
  override async sort(suites: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ project }: TestSpecification) => ORDER.indexOf(project.name)
    return (await super.sort(suites)).sort((one, other) => rank(one) - rank(other))
  }
}

export default defineConfig({
  test: {
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...shared,
          name: 'fast',
          include: [
            ...spec,
            'bench/**/*.test.ts',
            'console/**/*.test.ts',
            'test/tidy.test.ts',
            'test/tidy/**/*.test.ts',
            'test/support/**/*.test.ts',
            'test/docs.test.ts',
            'test/build.test.ts',
            'test/deploy.test.ts',
            'test/helm.test.ts',
            'test/install.test.ts',
            'test/release.test.ts',
            'test/terraform.test.ts',
          ],
          exclude: [...thorough, ...clustered],
        },
      },
      { test: { ...shared, name: 'thorough', include: thorough, testTimeout: 120_000 } },
      // The same promises over the other engine, by the suites that can tell the two apart.
      {
        test: {
          ...shared,
          name: 'postgres',
          include: runnable('postgres'),
          testTimeout: 120_000,
          env: { TEST_ENGINE: 'postgres' },
        },
      },
      // The console in a real browser, over the real server and what `npm run build` left.
      {
        test: {
          ...shared,
          name: 'console',
          include: runnable('console'),
          testTimeout: 120_000,
          hookTimeout: 300_000,
        },
      },
      // Torture and fuzzing, in the size that fits a test run.
      {
        test: {
          ...shared,
          name: 'slow',
          include: runnable('slow'),
          testTimeout: 600_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
