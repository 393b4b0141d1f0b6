// How cost grows: with connections, with keys in the store, with the size of a body. A curve is a small table and its
// exponent k in cost ≈ c·n^k.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../src/core/clock.ts'
import { createKey } from '../src/keys/key.ts'
import { keyStore } from '../src/keys/key-store.ts'
import { foundFirstProject } from '../src/start/bootstrap.ts'
import { readConfig } from '../src/start/config.ts'
import { openStore } from '../src/start/open-store.ts'
import { exponent, logarithmsExponent } from './figures.ts'
import { type Conditions, type Contender, measure, summarize } from './measure.ts'
import { type ServerProcess, temporaryFolder } from './processes.ts'
import { record } from './report.ts'
import { ADMIN_KEY, as, CHAT, chat, startService } from './service-under-test.ts'
import { textTable } from './text-table.ts'
import { startBareProxy, startUpstream } from './upstream-side.ts'

const CONNECTIONS = [1, 4, 16, 64, 256, 1_000]
const KEYS = [10, 100, 1_000, 10_000, 100_000]
const BODY_BYTES = [1_024, 16_384, 131_072, 1_048_576]
const KEYS_AT_ONCE = 1_000
const TOLERANCE = 0.02 // an exponent this small is within what two runs of the same differ by

interface Size {
  size: number
  contender: Contender
}

export async function growth(conditions: Conditions, [only]: string[]): Promise<string> {
  const curves: Record<string, () => Promise<string>> = {
    connections: () => withConnections(conditions),
    keys: () => withKeys(conditions),
    bodies: () => withBodies(conditions),
  }
  if (only !== undefined && !(only in curves))
    throw new Error(`growth by '${only}' is not there; there are: ${Object.keys(curves).join(', ')}`)
  const told: string[] = []
  for (const [name, curve] of Object.entries(curves)) if (only === undefined || only === name) told.push(await curve())
  return told.join('\n')
}

async function withConnections(conditions: Conditions): Promise<string> {
  const upstream = await startUpstream()
  const ours = await startService({ name: 'switchyard', upstream })
  const bare = await startBareProxy(upstream, 'node:http')
  const sizes = (server: ServerProcess): Size[] =>
    CONNECTIONS.map((size) => ({
      size,
      contender: {
        name: `${server.name}, ${size}`,
        server,
        plan: { path: CHAT, headers: as(ADMIN_KEY), body: chat() },
        connections: size,
      },
    }))
  const told = [
    await curve('Connections, switchyard', sizes(ours), conditions),
    await curve('Connections, the bare proxy', sizes(bare), conditions),
  ]
  await Promise.all([upstream, ours, bare].map((server) => server.stop()))
  return told.map(({ text, k }) => `${text}\n\nCost per request grows with exponent ${k.toFixed(3)}.`).join('\n')
}

async function withBodies(conditions: Conditions): Promise<string> {
  const upstream = await startUpstream()
  const ours = await startService({ name: 'switchyard', upstream })
  const bare = await startBareProxy(upstream, 'node:http')
  const sizes = (server: ServerProcess, word?: string): Size[] =>
    BODY_BYTES.map((size) => ({
      size,
      contender: {
        name: `${server.name}, ${size} bytes`,
        server,
        plan: { path: CHAT, headers: as(ADMIN_KEY), body: chat({}, size, word) },
        connections: 16,
        warm_requests: 3_000,
      },
    }))
  const told = [
    await curve('Bytes of the body, switchyard', sizes(ours), conditions),
    await curve('Bytes of the body, in Chinese, switchyard', sizes(ours, '你好，世界。'), conditions),
    await curve('Bytes of the body, the bare proxy', sizes(bare), conditions),
  ]
  await Promise.all([upstream, ours, bare].map((server) => server.stop()))
  return told
    .map(
      ({ text, k }) => `${text}\n\nExponent ${k.toFixed(3)}; bytes must be read, so 1 is what a large body comes to.`,
    )
    .join('\n')
}

async function withKeys(conditions: Conditions): Promise<string> {
  const upstream = await startUpstream()
  const sizes: Size[] = []
  for (const size of KEYS) {
    const { data_dir, keys_file } = await storeWithKeys(size)
    const server = await startService({ name: 'switchyard', upstream, data_dir })
    const plan = { path: CHAT, headers: { 'content-type': 'application/json' }, body: chat(), keys_file }
    sizes.push({ size, contender: { name: `${size} keys`, server, plan } })
  }
  const { text, k } = await curve('Keys in the store, each request by another of them', sizes, conditions)
  await Promise.all([upstream, ...sizes.map(({ contender }) => contender.server)].map((server) => server.stop()))
  const allowed = logarithmsExponent(KEYS)
  const verdict = k <= allowed + TOLERANCE ? 'no worse than logarithmic' : 'WORSE THAN LOGARITHMIC'
  return `${text}\n\nExponent ${k.toFixed(3)}; a logarithm has ${allowed.toFixed(3)} over the same sizes: ${verdict}.`
}

/** Made through the project's own store, in bulk, before the service opens it. */
async function storeWithKeys(count: number): Promise<{ data_dir: string; keys_file: string }> {
  const data_dir = temporaryFolder().path
  const { db } = await openStore(readConfig({ SWITCHYARD_DATA_DIR: data_dir }), systemClock)
  const now = systemClock.now()
  const founded = await foundFirstProject(db, now, ADMIN_KEY)
  if (typeof founded === 'string') throw new Error(`a new store is ${founded}`)
  const raw: string[] = []
  while (raw.length < count)
    await db.transaction(async (tx) => {
      const keys = keyStore(tx)
      for (let made = 0; made < KEYS_AT_ONCE && raw.length < count; made++) {
        const key = createKey(founded.project.id, { name: `agent ${raw.length}` }, now)
        await keys.insert(key, now)
        raw.push(key.raw)
      }
    })
  await db.close()
  const keys_file = join(data_dir, 'raw-keys.txt')
  writeFileSync(keys_file, raw.join('\n'), { mode: 0o600 })
  return { data_dir, keys_file }
}

async function curve(title: string, sizes: readonly Size[], conditions: Conditions) {
  const contenders = sizes.map(({ contender }) => contender)
  const measured = await measure(contenders, conditions)
  const summaries = summarize(measured.rounds, contenders)
  const points = sizes.map(({ size }, at) => [size, summaries[at]?.cpu_us.median ?? 0] as const)
  const k = exponent(points)
  record(`Growth: ${title}`, { conditions, ...measured, summaries, points, exponent: k })
  const rows = summaries.map((one, at) => [
    String(sizes[at]?.size),
    one.cpu_us.median.toFixed(1),
    one.cpu_ratio.median.toFixed(2),
    `${one.cpu_ratio.p20.toFixed(2)}–${one.cpu_ratio.p80.toFixed(2)}`,
    one.per_second.toFixed(0),
    one.p50_ms.toFixed(2),
    one.p99_ms.toFixed(2),
    String(one.failures),
  ])
  const head = ['n', 'CPU µs/request', '× first', 'p20–p80', 'req/s', 'p50 ms', 'p99 ms', 'failed']
  return { text: textTable(title, head, rows), k }
}
