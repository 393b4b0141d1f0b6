// Which suites there are, and what each needs.
import { defineConfig } from 'vitest/config'

const spec = ['src/**/*.test.ts', 'test/spec/**/*.test.ts', 'test/sim/**/*.test.ts']
const slow = { testTimeout: 600_000, hookTimeout: 120_000 }
// Threads without isolation: modules are loaded once, and the suites keep to their own databases.
const shared = { pool: 'threads', isolate: false, testTimeout: 30_000, hookTimeout: 60_000 } as const

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...shared,
          name: 'fast',
          include: [...spec, 'test/tidy.test.ts', 'test/tidy/**/*.test.ts', 'test/docs.test.ts', 'cli/**/*.test.ts'],
        },
      },
      // The same promises over the other engine, and what takes minutes: both only in `npm test`.
      { test: { ...shared, name: 'postgres', include: spec, env: { TEST_ENGINE: 'postgres' } } },
      { test: { ...shared, ...slow, name: 'slow', include: ['test/slow/**/*.test.ts'] } },
    ],
  },
})
