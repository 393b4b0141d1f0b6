// The fuzzer: sends what fuzz-inputs.ts makes, and holds every answer against the document, the envelope, the standing
// headers and what the input must be answered. Schemathesis' checks, over our own document.
import { setTimeout as sleep } from 'node:timers/promises'
import { createKey } from '../../src/keys/key.ts'
import { type Input, inputFor, type Operation, operationsOf, type Scene } from './fuzz-inputs.ts'
import { type Dice, diceFrom } from './fuzz-values.ts'
import type { Answer, TestService } from './service.ts'

export interface Figures {
  seed: number
  inputs: number
  seconds: number
  slowest_ms: number
  rss_growth_mb: number
  /** What is still reachable after each input, since the warm-up: finer than what the system gave us. */
  kept_bytes_per_input: number
  by_kind: Record<string, number>
  by_status: Record<string, number>
  /** What went wrong, by check; for each operation the first of each in words. */
  failures: Record<string, number>
  examples: Record<string, string>
}

const PACE_MS = 20 // fifty requests a second: what no limit refuses (R51)
const SCENE_INPUTS = 500 // then another project: lists stay short
const POOL_MAX = 10
const WARM_UP = 0.2 // the share of inputs after which memory is measured for the first time

const collectGarbage = (globalThis as { gc?: () => void }).gc ?? (() => {})

/** `until` it has found what a check is there for: a planted bug need not be found twice. */
export async function fuzz(service: TestService, seed: number, inputs: number, until?: string): Promise<Figures> {
  const operations = operationsOf((await service.as().get('/openapi.json')).body)
  const dice = diceFrom(seed)
  const figures: Figures = {
    seed,
    inputs,
    seconds: 0,
    slowest_ms: 0,
    rss_growth_mb: 0,
    kept_bytes_per_input: 0,
    by_kind: {},
    by_status: {},
    failures: {},
    examples: {},
  }
  const onUnhandled = (reason: unknown) => note(figures, 'unhandled rejection', String(reason))
  process.on('unhandledRejection', onUnhandled) // it would have ended the process
  const began = performance.now()
  let scene = await newScene(service)
  let before = { rss_mb: 0, kept_bytes: 0 }
  for (let n = 0; n < inputs && !(until && until in figures.failures); n++) {
    if (n === Math.floor(inputs * WARM_UP)) before = await memory()
    if (n % SCENE_INPUTS === SCENE_INPUTS - 1) {
      await conforming(figures, async () => {
        for (const problem of await goneThingsStayGone(service, scene)) note(figures, 'use after free', problem)
      })
      scene = await newScene(service)
      for (const task of ['write key use', 'sweep silent clusters']) await service.housekeep(task)
      service.log.length = 0
    }
    service.clock.advance(PACE_MS)
    await sendOne(service, inputFor(operations, scene, dice), { scene, figures, dice })
  }
  figures.seconds = (performance.now() - began) / 1_000
  const after = await memory()
  figures.rss_growth_mb = after.rss_mb - before.rss_mb
  figures.kept_bytes_per_input = (after.kept_bytes - before.kept_bytes) / (inputs * (1 - WARM_UP))
  process.off('unhandledRejection', onUnhandled)
  return figures
}

/** What the heap no longer needs is given back by another thread, a moment after the collection. */
async function memory() {
  for (let turn = 0; turn < 2; turn++) {
    collectGarbage()
    await sleep(200)
  }
  const { rss, heapUsed, external } = process.memoryUsage()
  return { rss_mb: rss / 2 ** 20, kept_bytes: heapUsed + external }
}

interface FuzzScene extends Scene {
  project_key_id: string
  deregistered: string[]
  revoked: string[]
  raw_of: Map<string, string>
}

async function newScene(service: TestService): Promise<FuzzScene> {
  const { key, key_id, post } = await service.newProject()
  const scene: FuzzScene = {
    key,
    project_key_id: key_id,
    ids: { key_id: [], cluster_id: [] },
    strangers: Array.from({ length: 5 }, () => createKey('prj_nobody', { name: 'x' }, 0).raw),
    deregistered: [],
    revoked: [],
    raw_of: new Map(),
  }
  for (let n = 0; n < 3; n++) {
    learn(scene, (await post('/v2/api-keys', { name: 'victim' })).body)
    learn(scene, (await post('/v2/byoc/clusters', { name: 'victim', region: 'eu' })).body)
  }
  return scene
}

interface Context {
  scene: FuzzScene
  figures: Figures
  dice: Dice
}

async function sendOne(service: TestService, input: Input, { scene, figures }: Context): Promise<void> {
  const { kind, method, url, headers, payload } = input
  const began = performance.now()
  let answer: Answer
  try {
    answer = await service.as().send(method, url, { headers, ...(payload !== undefined && { payload }) })
  } catch (error) {
    return note(figures, 'conformance', `${(error as Error).message} ${inWords(input)}`, input)
  } finally {
    figures.slowest_ms = Math.max(figures.slowest_ms, performance.now() - began)
    figures.by_kind[kind] = (figures.by_kind[kind] ?? 0) + 1
  }
  const { status } = answer
  figures.by_status[status] = (figures.by_status[status] ?? 0) + 1
  const upstreamAway = input.operation.generates && status >= 502
  if (status >= 500 && !upstreamAway) note(figures, 'server error', `${status} ${inWords(input)}`, input)
  else if (input.expected && !input.expected.includes(status))
    note(figures, CHECK_OF[kind] ?? 'refusal', `${status} instead of ${input.expected} ${inWords(input)}`, input)
  if (status === 405 && !answer.headers.allow) note(figures, 'refusal', `405 without Allow ${inWords(input)}`, input)
  if (status === 200) await conforming(figures, () => follow(service, input, answer, { scene, figures }))
}

/** Whatever the service's client threw, an answer was not as documented. */
async function conforming(figures: Figures, work: () => Promise<void>): Promise<void> {
  await work().catch((error: Error) => note(figures, 'conformance', error.message))
}

const CHECK_OF: Partial<Record<Input['kind'], string>> = {
  valid: 'valid data refused',
  mutated: 'invalid data accepted',
  'no key': 'ignored authentication',
  'wrong method': 'unsupported method',
}

/** What was made can be found; what was deleted is remembered as gone. */
async function follow(
  service: TestService,
  { operation, method, ids }: Input,
  { body }: Answer,
  context: Pick<Context, 'scene' | 'figures'>,
) {
  const { scene, figures } = context
  if (method === 'POST' && isCreation(operation)) {
    learn(scene, body)
    if (operation.path === '/v2/byoc/clusters') {
      const got = await service.as(scene.key).get(`/v2/byoc/clusters/${body.id}`)
      if (got.status !== 200) note(figures, 'resource not available', `${got.status} for ${body.id}`)
    }
  }
  if (method !== 'DELETE') return
  const { cluster_id, key_id } = ids
  if (operation.path === '/v2/byoc/clusters/{cluster_id}' && cluster_id) scene.deregistered.push(cluster_id)
  if (operation.path === '/v2/api-keys/{key_id}' && key_id) scene.revoked.push(key_id)
  const left = (scene.ids.cluster_id ?? []).filter((id) => id !== cluster_id)
  scene.ids.cluster_id = left
  if (left.length === 0)
    learn(scene, (await service.as(scene.key).post('/v2/byoc/clusters', { name: 'victim', region: 'eu' })).body)
}

const isCreation = ({ path }: Operation) => path === '/v2/api-keys' || path === '/v2/byoc/clusters'

function learn(scene: FuzzScene, { id, object, key }: { id: string; object: string; key?: string }): void {
  const pool = scene.ids[object === 'api_key' ? 'key_id' : 'cluster_id'] ?? []
  if (key) scene.raw_of.set(id, key)
  pool.push(id)
  if (pool.length > POOL_MAX) pool.shift()
}

async function goneThingsStayGone(
  service: TestService,
  { key, deregistered, revoked, raw_of }: FuzzScene,
): Promise<string[]> {
  const found: string[] = []
  const { get, post, del } = service.as(key)
  for (const id of deregistered) {
    const url = `/v2/byoc/clusters/${id}`
    const statuses = [await get(url), await post(`${url}/heartbeat`, { status: 'active' }), await del(url)].map(
      (one) => one.status,
    )
    if (statuses.some((status) => status !== 404)) found.push(`${url}: ${statuses}`)
  }
  for (const id of revoked) {
    const { status } = await service.as(raw_of.get(id)).get('/v2/api-keys')
    if (status !== 401) found.push(`${id}: ${status}`)
  }
  return found
}

function note(figures: Figures, check: string, example: string, { operation }: Partial<Input> = {}): void {
  figures.failures[check] = (figures.failures[check] ?? 0) + 1
  figures.examples[`${check}${operation ? `: ${operation.method} ${operation.path}` : ''}`] ??= example
}

const inWords = ({ kind, method, url, headers, payload }: Input) =>
  `[${kind}] ${method} ${url.slice(0, 200)} ${JSON.stringify({ ...headers, authorization: headers.authorization?.slice(0, 20) })} ` +
  `${String(payload ?? '').slice(0, 300)}`
