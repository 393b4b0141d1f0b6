// The whole service over a real database, with a clock the test holds. No mocks. Every answer is checked against the
// OpenAPI document, the envelope and the standing headers on its way to the test.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, onTestFinished } from 'vitest'
import { buildService, type Parts } from '../../src/app.ts'
import type { Scope } from '../../src/core/scopes.ts'
import { isShared } from '../../src/counters/counters.ts'
import { redisCounters } from '../../src/counters/redis.ts'
import { housekeepingTasks } from '../../src/housekeeping.ts'
import { createKey } from '../../src/keys/key.ts'
import { keyStore } from '../../src/keys/key-store.ts'
import { slidingWindow } from '../../src/limits/sliding-window.ts'
import { foundProject } from '../../src/start/bootstrap.ts'
import { housekeepingLeases } from '../../src/start/housekeeping-lease.ts'
import { type OpenDb, sql } from '../../src/storage/db.ts'
import { type HeldClock, heldClock } from './clock.ts'
import { type Conformance, conformanceWith, type OpenApi } from './conformance.ts'
import { clusterRedis, contentsOf, ENGINE, type Engine, freshDb } from './databases.ts'
import { freshPrefix } from './redis-replicas.ts'
import { listenOn } from './sockets.ts'
import { type Tampering, tamperedDb } from './tampered-db.ts'

export interface Answer {
  status: number
  headers: Record<string, string>
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of a body by looking into it
  body: any
  bytes: Buffer
}

export interface Sending {
  headers?: Record<string, string>
  /** Sent as it is; `body` would be made JSON first. */
  payload?: string | Buffer
  body?: unknown
}

export interface Options {
  engine?: Engine
  log?: string[]
  /** What stands between the service and its store. */
  tampering?: Tampering
  /** Parts of the service that are to be others than in every test. */
  parts?: Partial<Parts>
}

export type TestService = Awaited<ReturnType<typeof buildTestService>>
export type TestProject = Awaited<ReturnType<TestService['newProject']>>

export const SECRET = 'a secret for tests, 32 characters or more'

/** However busy the machine, Redis is not thought to be away. */
const PATIENCE_MS = 20_000

/** A service for one test, with a project of its own. */
export async function startService(options: Options = {}) {
  const service = await buildTestService(options)
  onTestFinished(service.stop)
  return { ...service, ...(await service.newProject()) }
}

/** One service for a whole suite: cheaper, and each test founds its own project in it. */
export function withService(suite: (service: () => TestService) => void, options: Options = {}): void {
  describe(ENGINE, () => {
    let service: TestService
    beforeAll(async () => {
      service = await buildTestService(options)
    })
    afterAll(() => service.stop())
    suite(() => service)
  })
}

export async function buildTestService({ engine, log = [], tampering = {}, parts: more = {} }: Options = {}) {
  const clock = heldClock()
  const { db, location, drop } = await freshDb(engine)
  const store = tamperedDb(db, tampering)
  const started: { app: FastifyInstance; counters: Parts['counters'] }[] = []
  const prefix = freshPrefix() // services do not see each other's counts

  /** The service as another process on the same store would be it. */
  async function startProcess(process_id: string) {
    const logger = pino({ level: 'trace' }, { write: (line: string) => void log.push(line) })
    const shared = more.counters ? {} : await sharedCounters(prefix, process_id)
    const parts = { db: store, clock, logger, secret: SECRET, process_id, version: 'test', ...shared, ...more }
    const { service, routes } = await notingRoutes(() => buildService(parts))
    started.push({ app: service.app, counters: undefined, ...shared })
    await service.app.ready()
    const conforms = conformanceOf(service.app, routes)
    return { ...service, routes, as: (raw?: string) => callerOf(service.app, conforms, raw) }
  }

  const first = await startProcess('test')
  let projects = 0

  /** A project of its own, and its admin key. */
  async function newProject({ verified = true } = {}) {
    const founding = { name: 'home', owner_email: `owner${++projects}@example.com`, verified }
    const { project, key } = await foundProject(db, founding, clock.now())
    const keyWith = (...scopes: Scope[]) => insertKey(db, clock, project.id, scopes)
    return { project, key: key.raw, key_id: key.api_key.id, keyWith, ...first.as(key.raw) }
  }

  /** R79: the project that runs the service, made where none is there yet, and a further admin key of it. */
  async function operator() {
    const appointed = () => db.rows<{ value: string }>(sql`SELECT value FROM setting WHERE name = 'operator_project'`)
    if ((await appointed()).length === 0) await newProject()
    const [{ value: project_id } = { value: '' }] = await appointed()
    const minted = createKey(project_id, { name: 'operator', scopes: ['admin'] }, clock.now())
    await keyStore(db).insert(minted, clock.now())
    const keyWith = (...scopes: Scope[]) => insertKey(db, clock, project_id, scopes)
    return { project_id, key: minted.raw, key_id: minted.api_key.id, keyWith, ...first.as(minted.raw) }
  }

  /** Runs one housekeeping task now, by name. */
  async function housekeep(name: string): Promise<void> {
    const tasks = housekeepingTasks(first, housekeepingLeases(store, 'test', clock), clock)
    const task = tasks.find((one) => one.name === name)
    if (!task) throw new Error(`no housekeeping task '${name}'`)
    await task.run()
  }

  /** What a refusal must be: an answer, and not one row written, changed or gone. */
  async function storingNothing(work: () => Promise<Answer>): Promise<Answer> {
    const before = await contentsOf(db)
    const answer = await work()
    if ((await contentsOf(db)) !== before) throw new Error(`answered ${answer.status}, but changed what is stored`)
    return answer
  }

  async function stop(): Promise<void> {
    for (const { app, counters } of started) {
      await app.close()
      if (counters && isShared(counters)) await counters.close()
    }
    await drop()
  }

  const listen = () => listenOn(first.app)
  const ways = { startProcess, newProject, operator, housekeep, storingNothing, listen, stop }
  return { ...first, ...ways, clock, db, location, log, tampering }
}

/** In a cluster, rates are counted on Redis; its time, too, is the one that the test holds. */
export async function sharedCounters(prefix: string, process_id: string): Promise<Pick<Parts, 'counters'>> {
  const url = clusterRedis()
  if (!url) return {}
  const options = { url, rule: slidingWindow, process_id, clock: undefined, prefix, answer_ms: PATIENCE_MS }
  return { counters: await redisCounters(options) }
}

/** Fastify announces each instance it makes; that is early enough to hear of every route, declared well or not. */
async function notingRoutes<S>(build: () => Promise<S>): Promise<{ service: S; routes: RouteOptions[] }> {
  const routes: RouteOptions[] = []
  const onInstance = (message: unknown) => {
    const { fastify } = message as { fastify: FastifyInstance }
    fastify.addHook('onRoute', (route) => void routes.push(route))
    namePlugins(fastify)
  }
  subscribe('fastify.initialization', onInstance)
  try {
    return { service: await build(), routes }
  } finally {
    unsubscribe('fastify.initialization', onInstance)
  }
}

const NAME = Symbol.for('fastify.display-name')

/** For the name of a plugin that has none, Fastify goes through all modules, of which a worker of tests has thousands. */
function namePlugins(fastify: FastifyInstance): void {
  const register = fastify.register as (plugin: object, options?: object) => FastifyInstance
  const named = function (this: FastifyInstance, plugin: { name?: string; [NAME]?: string }, options?: object) {
    plugin[NAME] ??= plugin.name || 'routes'
    return register.call(this, plugin, options)
  }
  fastify.register = named as unknown as FastifyInstance['register']
}

const conformances = new Map<string, Conformance>()

/** Services with the same routes have the same document: it is written, and its schemas compiled, once in a worker. */
export function conformanceOf(app: FastifyInstance, routes: readonly RouteOptions[]): Conformance {
  const name = routes.map(({ method, url }) => `${method} ${url}`).join('\n')
  const conforms = conformances.get(name) ?? conformanceWith(app.swagger() as unknown as OpenApi)
  conformances.set(name, conforms)
  return conforms
}

/** A further key, straight from the store. */
async function insertKey(db: OpenDb, clock: HeldClock, project_id: string, scopes: Scope[]): Promise<string> {
  const minted = createKey(project_id, { name: scopes.join('+'), scopes }, clock.now())
  await keyStore(db).insert(minted, clock.now())
  return minted.raw
}

function callerOf(app: FastifyInstance, conforms: Conformance, raw: string | undefined) {
  async function send(method: string, url: string, { headers, payload, body }: Sending = {}): Promise<Answer> {
    const content = payload ?? (body === undefined ? undefined : JSON.stringify(body))
    const reply = await app.inject({
      method: method as 'GET',
      url,
      headers: {
        ...(raw && { authorization: `Bearer ${raw}` }),
        ...(content !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(content !== undefined && { payload: content }),
    })
    const isJson = String(reply.headers['content-type']).startsWith('application/json')
    const answer = {
      status: reply.statusCode,
      headers: reply.headers as Record<string, string>,
      body: isJson && reply.payload !== '' ? JSON.parse(reply.payload) : reply.payload,
      bytes: reply.rawPayload,
    }
    const wrong = conforms(method, url, answer)
    if (wrong.length > 0) throw new Error(`${method} ${url} answered ${answer.status}: ${wrong.join('; ')}`)
    return answer
  }
  return {
    send,
    get: (url: string, headers?: Record<string, string>) => send('GET', url, headers ? { headers } : {}),
    post: (url: string, body?: unknown, headers?: Record<string, string>) =>
      send('POST', url, { body, ...(headers && { headers }) }),
    patch: (url: string, body?: unknown) => send('PATCH', url, { body }),
    del: (url: string, headers?: Record<string, string>) => send('DELETE', url, headers ? { headers } : {}),
  }
}
