// F17: thousands of inputs from the OpenAPI document and from spite, other ones in every run: no server error,
// every refusal in the envelope, nothing accepted that should not be, no memory kept. FUZZ_SEED=… repeats a run,
// FUZZ_INPUTS=… makes it longer.
import { execFile } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { type Figures, fuzz } from '../support/fuzz.ts'
import { fuzzSockets } from '../support/fuzz-sockets.ts'
import { planted } from '../support/planted.ts'
import { startService } from '../support/service.ts'
import { sized } from '../support/sizes.ts'
import { mutateSql, type Tampering, textOf } from '../support/tampered-db.ts'
import { bundled } from '../torture/bundled.ts'

const seed = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31 - 1))
const INPUTS = Number(process.env.FUZZ_INPUTS ?? sized(10_000))
const PROGRAM = fileURLToPath(new URL('../support/fuzz-main.ts', import.meta.url))
const DAMAGED = sized(500)
const RSS_GROWTH_MAX_MB = 50
const KEPT_TELLS_FROM = 10_000 // inputs
const KEPT_MAX_BYTES = 600 // by each input: what a single small object would come to

function report(
  { seed: from, inputs, seconds, slowest_ms, rss_growth_mb, kept_bytes_per_input, by_kind, by_status }: Figures,
  where: string,
) {
  const counts = (of: Record<string, number>) =>
    Object.entries(of)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ')
  process.stdout.write(
    `fuzz on ${where}: ${inputs} inputs in ${seconds.toFixed(1)} s (${Math.round(inputs / seconds)}/s), FUZZ_SEED=${from}, ` +
      `slowest ${slowest_ms.toFixed(0)} ms, memory ${rss_growth_mb.toFixed(1)} MB more, ` +
      `${kept_bytes_per_input.toFixed(0)} bytes kept of each\n  ${counts(by_kind)}\n  ${counts(by_status)}\n`,
  )
}

test('F17 thousands of inputs on SQLite, in a process of its own', async () => {
  const args = ['--expose-gc', bundled(PROGRAM), String(seed), String(INPUTS)]
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 24 })
  const figures: Figures = JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
  report(figures, 'SQLite')
  expect({ failures: figures.failures, examples: figures.examples }).toEqual({ failures: {}, examples: {} })
  expect(figures.by_status[200]).toBeGreaterThan(INPUTS * 0.1)
  expect(figures.rss_growth_mb).toBeLessThan(RSS_GROWTH_MAX_MB)
  // Of fewer, what is kept of each is mostly what is kept once.
  if (INPUTS >= KEPT_TELLS_FROM) expect(figures.kept_bytes_per_input).toBeLessThan(KEPT_MAX_BYTES)
})

test('F17 hundreds of inputs on PostgreSQL', async () => {
  const figures = await fuzz(await startService({ engine: 'postgres' }), seed, Math.min(INPUTS, sized(800)))
  report(figures, 'PostgreSQL')
  expect({ failures: figures.failures, examples: figures.examples }).toEqual({ failures: {}, examples: {} })
})

test('F17 damaged requests over sockets', async () => {
  const service = await startService({ engine: 'sqlite' })
  const { answered, problems } = await fuzzSockets(service, seed, DAMAGED)
  process.stdout.write(`fuzz over sockets: ${answered} of ${DAMAGED} damaged requests answered, FUZZ_SEED=${seed}\n`)
  expect(problems).toEqual([])
  expect(answered).toBeGreaterThan(DAMAGED * 0.9)
  expect((await service.get('/v2/api-keys')).status).toBe(200)
})

planted.each<[string, string, (tampering: Tampering) => void]>([
  [
    'a text that the store cannot take',
    'server error',
    (t) => {
      t.rows = (statement, run) =>
        statement.values.some((value) => typeof value === 'string' && value.includes('日'))
          ? Promise.reject(new Error('bad text'))
          : run(statement)
    },
  ],
  [
    'a key that nobody has, accepted',
    'ignored authentication',
    (t) => {
      t.rows = async (statement, run) => {
        const rows = await run(statement)
        if (!textOf(statement).includes('WHERE k.hash') || rows.length > 0) return rows
        const unbound = {
          allowed_models: null,
          allowed_cidrs: null,
          parent_models: null,
          parent_cidrs: null,
          parent_id: null,
          allowed_clusters: null,
          model_rates: null,
          parent_clusters: null,
        }
        return [{ key_id: 'key_x', project_id: 'prj_x', scopes: 'admin', verified_at: 'now', ...unbound }]
      }
    },
  ],
  [
    'a status that the document does not know',
    'conformance',
    (t) => {
      t.rows = async (statement, run) =>
        (await run(statement)).map((row) => ({
          ...(row as object),
          ...(textOf(statement).includes('FROM byoc_cluster') && { status: 'lost' }),
        }))
    },
  ],
  [
    'a cluster that a heartbeat brings back',
    'use after free',
    (t) => void mutateSql(t, /^\s*DELETE FROM byoc_cluster/, "UPDATE byoc_cluster SET status = 'down'"),
  ],
])('F17 planted: %s is found', async (_bug, check, plant) => {
  const tampering: Tampering = {}
  const broken = await startService({ tampering, engine: 'sqlite' })
  plant(tampering)
  const { failures } = await fuzz(broken, 1, 1_500, check)
  expect(Object.keys(failures)).toContain(check)
})
