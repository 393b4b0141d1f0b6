// R70: a POST that adds something to a project declares what, and is refused where the project has as many as it may.
// The place is taken in the transaction of what is added: both happen, or neither does.
import type { FastifyInstance, RouteHandlerMethod } from 'fastify'
import type { Clock } from '../core/clock.ts'
import type { Db, Sql } from '../storage/db.ts'
import { beyondQuota, type QuotaKind, type Quotas, RECOUNT_AFTER_MS } from './quota.ts'
import { quotaStore } from './quota-store.ts'

/** What a successful call adds one of, and how a project's are counted. */
interface Adds {
  kind: QuotaKind
  present(project_id: string, now: number): Sql
}

declare module 'fastify' {
  interface FastifyContextConfig {
    adds?: Adds
  }
}

interface Needs {
  clock: Clock
  quotas: Quotas
}

const COUNTED_MAX = 10_000 // projects and kinds that are remembered as counted lately

/** Must come before the hook that makes POSTs idempotent, whose transaction then goes around this one. */
export function keepQuotas(app: FastifyInstance, { clock, quotas }: Needs): void {
  const counted = new Map<string, number>() // when, by project and kind

  /** Whoever stands at a bound must not make us count at every try. */
  function mayCount(project_id: string, kind: QuotaKind, now: number): boolean {
    const name = `${project_id} ${kind}`
    if (now - (counted.get(name) ?? Number.NEGATIVE_INFINITY) < RECOUNT_AFTER_MS) return false
    if (counted.size >= COUNTED_MAX) counted.clear()
    counted.set(name, now)
    return true
  }

  async function takeOne(tx: Db, project_id: string, { kind, present }: Adds): Promise<void> {
    const store = quotaStore(tx)
    const now = clock.now()
    if (await store.take(project_id, kind, quotas[kind])) return
    if (mayCount(project_id, kind, now)) {
      await store.recount(project_id, kind, present(project_id, now))
      if (await store.take(project_id, kind, quotas[kind])) return
    }
    throw beyondQuota(kind, (await store.own(project_id))[kind] ?? quotas[kind])
  }

  const takingOne = (handler: RouteHandlerMethod, adds: Adds): RouteHandlerMethod =>
    async function (request, reply) {
      const { db, caller } = request
      return db.transaction(async (tx) => {
        request.db = tx
        await takeOne(tx, caller.project_id, adds)
        return handler.call(this, request, reply)
      })
    }

  app.addHook('onRoute', (route) => {
    const adds = route.config?.adds
    if (adds) route.handler = takingOne(route.handler, adds)
  })
}
