// `npm test`: everything, over every engine. Starts what it needs by itself and says so; skips nothing.
import { spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postgresServer } from '../test/support/postgres-server.ts'
import { redisServer } from '../test/support/redis-server.ts'

const say = (text: string) => process.stdout.write(`${text}\n`)

const postgres = await postgresServer(say)
const redis = await redisServer(say)
const report = join(tmpdir(), `switchyard-tests-${process.pid}.json`)
const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
const env = { ...process.env, TEST_DATABASE_URL: postgres.url, TEST_REDIS_URL: redis.url }
const code = await run('npx', ['vitest', 'run', ...reporters, ...process.argv.slice(2)], env)
await Promise.all([postgres.stop(), redis.stop()])

const { numPassedTests, numFailedTests, numPendingTests, numTotalTests } = JSON.parse(readFileSync(report, 'utf8'))
rmSync(report)
if (numTotalTests === 0) say('No test ran.')
// A file that could not be loaded has no tests to count, but fails the run all the same.
const failed = numFailedTests === 0 && code !== 0 ? 1 : numFailedTests
say(`${numPassedTests} passed, ${failed} failed${numPendingTests ? `, ${numPendingTests} skipped` : ''}`)
process.exitCode = failed > 0 || numTotalTests === 0 ? 1 : 0

function run(command: string, args: string[], environment: NodeJS.ProcessEnv): Promise<number> {
  return new Promise((done) => {
    spawn(command, args, { stdio: 'inherit', env: environment }).once('exit', (status) => done(status ?? 1))
  })
}
