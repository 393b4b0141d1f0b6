// The service on a real socket, over two programmable upstreams, with prices that are easy to reckon with: a token in
// costs one micro, a cached one half, one written to the cache two, a token out two. Each test gets a stage of its own:
// a project, a key, and models that only this stage's providers serve, so that no breaker or slot is shared.
import OpenAI from 'openai'
import { afterAll, beforeAll, describe } from 'vitest'
import type { Parts } from '../../src/app.ts'
import { digest } from '../../src/idempotency/idempotency.ts'
import type { ProviderSettings } from '../../src/providers/provider-config.ts'
import { parseConfig } from '../../src/start/config-file.ts'
import { type GatewaySettings, noGateway } from '../../src/start/gateway-settings.ts'
import { type OpenDb, sql } from '../../src/storage/db.ts'
import type { UsageAttempt } from '../../src/usage/usage-event.ts'
import { ENGINE } from './databases.ts'
import { type Asking, type Heard, type OpenCall, openCall } from './inference-client.ts'
import { nextLooks } from './next-look.ts'
import { buildTestService, type TestService } from './service.ts'
import { listenOn } from './sockets.ts'
import type { Tampering } from './tampered-db.ts'
import { startUpstream, type TestUpstream } from './upstream.ts'

export const CHAT = '/v1/chat/completions'
export const MAX_OUTPUT = 1_000
export const PRICES = {
  input_usd_per_million: 1,
  cached_input_usd_per_million: 0.5,
  cache_write_usd_per_million: 2,
  output_usd_per_million: 2,
}
/** What the upstream's usual answer costs: 11 tokens in, 7 out. */
export const USUAL_COST = 25

/** How long `hasty-n` may take, by timers that the test holds: no machine is so busy that it takes as long. */
export const HASTY = { connect_ms: 5_000, first_byte_ms: 5_000, idle_ms: 5_000, total_ms: 20_000 }

/** R43: what must be held for this body: two bytes a token, each at the dearest, and as many tokens out. */
export function holdFor(body: object | string, output = MAX_OUTPUT): number {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return 2 * Math.ceil(Buffer.byteLength(text) / 2) + 2 * output
}

export interface SceneOptions {
  /** How many stages there can be. */
  stages?: number
  /** More of switchyard.yaml: further providers, which come last, fees, retention. */
  config?: object | ((one: TestUpstream, two: TestUpstream) => object)
  /** False: no provider at all, so that the placeholder answers. */
  gateway?: boolean
  /** What else the service is built from. */
  parts?: Pick<Parts, 'tracing' | 'memory_bytes' | 'least_rooms'>
}

export type Scene = Awaited<ReturnType<typeof startScene>>
export type Stage = Awaited<ReturnType<Scene['stage']>>

/** One service for a whole suite. */
export function withScene(suite: (scene: () => Scene) => void, options: SceneOptions = {}): void {
  describe(ENGINE, () => {
    let scene: Scene
    beforeAll(async () => {
      scene = await startScene(options)
    })
    afterAll(() => scene?.stop())
    suite(() => scene)
  })
}

export async function startScene({ stages = 60, config = {}, gateway = true, parts = {} }: SceneOptions = {}) {
  const [one, two] = [await startUpstream(), await startUpstream()]
  const tampering: Tampering = {}
  const log: string[] = []
  const settings = settingsFrom(typeof config === 'function' ? config(one, two) : config)
  const staged_providers = Array.from({ length: gateway ? stages : 0 }, (_, n) => stagingOf(n, one, two))
  settings.gateway.providers = [...staged_providers.flat(), ...settings.gateway.providers]
  const service = await buildTestService({ tampering, log, parts: { settings, ...parts } })
  const { port } = await service.listen()
  const origin = `http://127.0.0.1:${port}`
  let staged = 0

  /** A project and a key with these limits, in micro-USD; and both upstreams as they were in the beginning. */
  async function stage(limits: { key?: number; project?: number } = {}) {
    const n = staged++
    if (gateway && n >= stages) throw new Error(`there are only ${stages} stages`)
    for (const upstream of [one, two]) {
      upstream.behave({})
      upstream.requests.length = 0
    }
    const home = await service.newProject()
    if (limits.key !== undefined) await setKeyLimit(service.db, home.key_id, limits.key)
    if (limits.project !== undefined) await setProjectCap(service.db, home.project.id, limits.project)
    const models = { model: `model-${n}`, both: `both-${n}`, hasty: `hasty-${n}`, narrow: `narrow-${n}` }
    const names = { ...models, first: `one-${n}`, second: `two-${n}` }
    const ways = waysOf(service, origin, { project_id: home.project.id, key: home.key, model: names.model })
    /** R79: what a project is given, the operator gives it. */
    const subscribe = async (plan: object) =>
      (await service.operator()).post(`/v2/operator/projects/${home.project.id}/subscriptions`, plan)
    return { ...home, ...names, ...ways, subscribe, one, two }
  }

  async function stop(): Promise<void> {
    await service.inference.close()
    await service.stop()
    await Promise.all([one.close(), two.close()])
  }

  return { ...service, tampering, log, origin, one, two, stage, stop }
}

type Address = Pick<TestUpstream, 'base_url'>
const [ONE, TWO]: [Address, Address] = [{ base_url: 'http://one.invalid/v1' }, { base_url: 'http://two.invalid/v1' }]
const stagings: (readonly ProviderSettings[])[] = []

/** One is read in a worker: of the others only names are others, and addresses for the next scene. */
function stagingOf(n: number, one: Address, two: Address): ProviderSettings[] {
  stagings[0] ??= settingsFrom({ providers: providersOf(0, ONE, TWO) }).gateway.providers
  stagings[n] ??= numbered(stagings[0], n)
  // Copies, since a service remembers things of them by themselves.
  const moved = (from: string) => (from === ONE.base_url ? one : two).base_url
  return structuredClone(stagings[n]).map((provider) => ({ ...provider, base_url: moved(provider.base_url) }))
}

/** The same with every name that ends in -0 as that of stage `n`. */
function numbered<T>(value: T, n: number): T {
  const made = (of: unknown): unknown => {
    if (typeof of === 'string') return of.replace(/-0$/, `-${n}`)
    if (Array.isArray(of)) return of.map(made)
    return of && typeof of === 'object'
      ? Object.fromEntries(Object.entries(of).map(([at, one]) => [at, made(one)]))
      : of
  }
  return made(value) as T
}

/**
 * What one stage has: `model-n` at the first upstream and `both-n` at either; `hasty-n`, where nobody waits for long;
 * `narrow-n`, where one call runs at a time.
 */
function providersOf(n: number, one: Address, two: Address): object[] {
  const model = (id: string) => ({ id, ...PRICES, max_output_tokens: MAX_OUTPUT })
  const common = { api_key: 'sk-upstream', max_concurrency: 2_000, byok: true }
  return [
    { id: `one-${n}`, ...common, base_url: one.base_url, region: 'us', models: [`model-${n}`, `both-${n}`].map(model) },
    { id: `two-${n}`, ...common, base_url: two.base_url, region: 'eu', models: [model(`both-${n}`)] },
    {
      id: `hasty-${n}`,
      ...common,
      base_url: one.base_url,
      timeouts: HASTY,
      models: [model(`hasty-${n}`)],
    },
    { id: `narrow-${n}`, ...common, max_concurrency: 1, base_url: one.base_url, models: [model(`narrow-${n}`)] },
  ]
}

const ENOUGH = 1_000_000_000
/** Rates are another suite's matter. */
const LIMITS = {
  edge: { auth_per_minute: ENOUGH, inference_per_minute: ENOUGH, read_per_minute: ENOUGH },
  key: { requests_per_minute: ENOUGH, tokens_per_minute: ENOUGH, concurrent_streams: ENOUGH },
  project: { requests_per_minute: ENOUGH, admin_per_minute: ENOUGH },
}

export function settingsFrom(config: object): GatewaySettings {
  const file = parseConfig(JSON.stringify({ limits: LIMITS, ...config }), 'the scene', {})
  const { providers, prices, aliases, fees, full_fidelity, retention_days, deadlines, limits, quotas, streams } = file
  const policy = { allow_private: true, allow_cidrs: [] }
  return {
    ...noGateway(),
    gateway: { providers, prices, aliases, fees, full_fidelity, retention_days, deadlines },
    policy,
    limits,
    quotas,
    streams,
  }
}

interface Whose {
  project_id: string
  key: string
  model: string
}

function waysOf({ db }: TestService, origin: string, { project_id, key, model }: Whose) {
  const authorization = `Bearer ${key}`

  const open = (path: string, asking: Asking = {}): OpenCall =>
    openCall(origin, path, { ...asking, headers: { authorization, ...asking.headers } })

  const bodyOf = (more: object = {}) => ({ model, messages: [{ role: 'user', content: 'hello' }], ...more })

  /** A chat call; `keyed` is its idempotency key. */
  function openChat(more: object = {}, { keyed, headers }: { keyed?: string; headers?: Asking['headers'] } = {}) {
    const key_header = keyed === undefined ? {} : { 'agent-idempotency-key': keyed }
    return open(CHAT, { body: bodyOf(more), headers: { ...key_header, ...headers } })
  }

  return {
    open,
    openChat,
    bodyOf,
    chat: (...asked: Parameters<typeof openChat>): Promise<Heard> => openChat(...asked).heard,
    ask: (path: string, asking?: Asking): Promise<Heard> => open(path, asking).heard,
    openai: (more: object = {}) => new OpenAI({ apiKey: key, baseURL: `${origin}/v1`, maxRetries: 0, ...more }),
    ledger: () => ledgerOf(db, project_id),
    /** Once this is true of the books: what happens after a client has left is seen nowhere else. */
    until: (holds: (ledger: Ledger) => boolean) => booksWhere(db, project_id, holds),
    audit: () => auditOf(db, project_id),
    keyState: (keyed: string, route = CHAT) => stateOf(db, digest({ project_id, route, params: {}, key: keyed })),
  }
}

/** The same service in a process of its own, over the same store. */
export async function anotherProcess(scene: Scene, process_id: string) {
  const process = await scene.startProcess(process_id)
  const { port } = await listenOn(process.app)
  return { ...process, origin: `http://127.0.0.1:${port}` }
}

export interface BookedEvent {
  trace_id: string
  status: string
  charged_micros: number
  direct_cost_micros: number
  written_off_micros: number
  overage_micros: number
  waived_micros: number
  tokens_estimated: number
  input_tokens: number
  output_tokens: number
  ttft_ms: number | null
  mode: string
  attempts: UsageAttempt[]
}

export interface Ledger {
  spent: number
  held: number
  /** Holds that nobody has settled yet. */
  holds: number[]
  /** In the order in which they were written. */
  events: BookedEvent[]
}

async function ledgerOf(db: OpenDb, project_id: string): Promise<Ledger> {
  const [project] = await db.rows<{ spent_micros: number; held_micros: number }>(sql`
    SELECT spent_micros, held_micros FROM project WHERE id = ${project_id}`)
  const holds = await db.rows<{ micros: number }>(sql`
    SELECT micros FROM budget_hold WHERE project_id = ${project_id}`)
  const events = await db.rows<Omit<BookedEvent, 'attempts'> & { attempts: string }>(sql`
    SELECT trace_id, status, charged_micros, direct_cost_micros, written_off_micros, overage_micros, waived_micros,
           tokens_estimated, input_tokens, output_tokens, ttft_ms, mode, attempts
    FROM usage_event WHERE project_id = ${project_id} ORDER BY sequence`)
  return {
    spent: project?.spent_micros ?? 0,
    held: project?.held_micros ?? 0,
    holds: holds.map(({ micros }) => micros),
    events: events.map((event) => ({ ...event, attempts: JSON.parse(event.attempts) })),
  }
}

async function booksWhere(db: OpenDb, project_id: string, holds: (ledger: Ledger) => boolean): Promise<Ledger> {
  const nextLook = nextLooks()
  for (;;) {
    const ledger = await ledgerOf(db, project_id)
    if (holds(ledger)) return ledger
    await nextLook()
  }
}

/** What must be true of the books whenever nothing is under way; returns them. */
async function auditOf(db: OpenDb, project_id: string): Promise<Ledger> {
  const ledger = await ledgerOf(db, project_id)
  const keys = await db.rows<{ spent_micros: number; held_micros: number }>(sql`
    SELECT spent_micros, held_micros FROM api_key WHERE project_id = ${project_id} AND parent_id IS NULL`)
  const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0)
  const found = {
    held: ledger.held,
    held_by_keys: sum(keys.map((key) => key.held_micros)),
    holds: ledger.holds,
    spent_by_keys: sum(keys.map((key) => key.spent_micros)),
    spent_in_events: sum(ledger.events.map((event) => event.charged_micros)),
  }
  const wanted = { held: 0, held_by_keys: 0, holds: [], spent_by_keys: ledger.spent, spent_in_events: ledger.spent }
  if (JSON.stringify(found) !== JSON.stringify(wanted))
    throw new Error(`the books do not balance: ${JSON.stringify(found)} with ${ledger.spent} spent`)
  return ledger
}

async function stateOf(db: OpenDb, id: string): Promise<'free' | 'held' | 'kept'> {
  const [row] = await db.rows<{ state: 'held' | 'kept' }>(sql`SELECT state FROM idempotency WHERE digest = ${id}`)
  return row?.state ?? 'free'
}

export async function setKeyLimit(db: OpenDb, key_id: string, micros: number): Promise<void> {
  await db.rows(sql`UPDATE api_key SET budget_micros = ${micros} WHERE id = ${key_id} RETURNING id`)
}

export async function setProjectCap(db: OpenDb, project_id: string, micros: number): Promise<void> {
  await db.rows(sql`UPDATE project SET cap_micros = ${micros} WHERE id = ${project_id} RETURNING id`)
}
