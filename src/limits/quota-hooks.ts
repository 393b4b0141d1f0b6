// R70: a POST that adds something to a project declares what, and is refused where the project has as many as it may.
// The place is taken in the transaction of what is added: both happen, or neither does. A DELETE below such a path
// makes room at once, when its own transaction is over: one takes the place's row first and the other the rows of what
// is there, so in one transaction they would wait for each other.
import type { FastifyInstance, FastifyRequest, RouteHandlerMethod, RouteOptions } from 'fastify'
import type { Clock } from '../core/clock.ts'
import type { Db, Sql } from '../storage/db.ts'
import { beyondQuota, type QuotaKind, type Quotas, RECOUNT_AFTER_MS } from './quota.ts'
import { isCounted, quotaStore } from './quota-store.ts'

/** What a successful call adds one of, and how a project's are counted. */
interface Adds {
  kind: QuotaKind
  present(project_id: string, now: number): Sql
  /** Finds what such a call would only replace, where it may do that: it has its place already. */
  replaced?(request: Pick<FastifyRequest, 'caller' | 'body'>): Sql
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** In the order in which their places are taken, the same everywhere. */
    adds?: Adds | readonly Adds[]
  }
}

interface Needs {
  clock: Clock
  quotas: Quotas
}

const COUNTED_MAX = 10_000 // projects and kinds that are remembered as counted lately

/** Must come before the hook that makes POSTs idempotent, whose transaction then goes around this one. */
export function keepQuotas(app: FastifyInstance, { clock, quotas }: Needs): void {
  const judge = takingPlaces({ clock, quotas })

  const takingEach = (handler: RouteHandlerMethod, all: readonly Adds[]): RouteHandlerMethod =>
    async function (request, reply) {
      const { db, caller } = request
      return db.transaction(async (tx) => {
        request.db = tx
        for (const adds of all) if (!(await isReplacing(tx, request, adds))) await judge(tx, caller.project_id, adds)
        return handler.call(this, request, reply)
      })
    }

  app.addHook('onRoute', (route) => {
    const all = addedBy(route)
    for (const { kind } of all) if (!isCounted(kind)) throw new Error(`quota '${kind}' is not among those counted`)
    if (all.length > 0) route.handler = takingEach(route.handler, all)
  })
}

/** Must come after the hook that audits: what it wraps has committed when room is made. `db` is the process' own. */
export function makeRoomAtOnce(app: FastifyInstance, { db, quotas }: { db: Db; quotas: Quotas }): void {
  const added = new Map<string, readonly QuotaKind[]>() // by path

  /** What is removed is gone, whatever becomes of this: then it makes room within a minute. */
  async function makeRoom({ caller, log }: FastifyRequest, kinds: readonly QuotaKind[]): Promise<void> {
    try {
      for (const kind of kinds) await quotaStore(db).allowRecount(caller.project_id, kind, quotas[kind])
    } catch (err) {
      log.warn({ err }, 'what was removed makes room later')
    }
  }

  const makingRoom = (handler: RouteHandlerMethod, path: string): RouteHandlerMethod =>
    async function (request, reply) {
      const answer = await handler.call(this, request, reply)
      await makeRoom(request, kindsBelow(added, path))
      return answer
    }

  app.addHook('onRoute', (route) => {
    const kinds = addedBy(route).map(({ kind }) => kind)
    if (kinds.length > 0) added.set(route.url, kinds)
    const collection = /^(.+)\/:[^/]+$/.exec(route.url)?.[1]
    if (route.method === 'DELETE' && collection) route.handler = makingRoom(route.handler, collection)
  })
}

/** Of two at once that add the same, each takes a place: whoever stands at the bound counts. */
async function isReplacing(tx: Db, request: FastifyRequest, { replaced }: Adds): Promise<boolean> {
  return replaced !== undefined && (await tx.rows(replaced(request))).length > 0
}

const addedBy = ({ config }: RouteOptions): readonly Adds[] => [config?.adds ?? []].flat()

/** What is added at a path, or below it: what is deleted there may be of any of them. */
const kindsBelow = (added: ReadonlyMap<string, readonly QuotaKind[]>, path: string): QuotaKind[] => [
  ...new Set([...added].flatMap(([url, kinds]) => (url === path || url.startsWith(`${path}/`) ? kinds : []))),
]

interface Count {
  at: number
  present: number
  /** Of a row that nobody had counted: as long as it says so, what was counted for it was not committed. */
  uncounted_by: number | undefined
}

function takingPlaces({ clock, quotas }: Needs) {
  const counts = new Map<string, Count>() // by project and kind

  function remember(name: string, count: Count): void {
    if (counts.size >= COUNTED_MAX) counts.clear()
    counts.set(name, count)
  }

  /**
   * Whoever stands at a bound must not make us count at every try: a count is believed for a minute, and what was
   * removed since lets us count once. Undefined where what the row says holds.
   */
  async function countFor(tx: Db, project_id: string, { kind, present }: Adds): Promise<number | undefined> {
    const [name, now] = [`${project_id} ${kind}`, clock.now()]
    const uncounted_by = await quotaStore(tx).uncountedBy(project_id, kind)
    const last = counts.get(name)
    const is_believed = last !== undefined && now - last.at < RECOUNT_AFTER_MS
    if (is_believed && uncounted_by === undefined) return undefined
    if (is_believed && uncounted_by === last.uncounted_by) return last.present
    const [row] = await tx.rows<{ present: number }>(present(project_id, now))
    const counted = Number(row?.present ?? 0)
    remember(name, { at: now, present: counted, uncounted_by })
    return counted
  }

  return async (tx: Db, project_id: string, adds: Adds): Promise<void> => {
    const store = quotaStore(tx)
    const { kind } = adds
    if (await store.take(project_id, kind, quotas[kind])) return
    const present = await countFor(tx, project_id, adds)
    if (present !== undefined) {
      await store.setPresent(project_id, kind, present)
      if (await store.take(project_id, kind, quotas[kind])) return
    }
    throw beyondQuota(kind, (await store.own(project_id))[kind] ?? quotas[kind])
  }
}
