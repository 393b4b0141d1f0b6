// R70: a POST that adds something to a project declares what, and is refused where the project has as many as it may.
// After validation, so that a body that is wrong takes nothing; a replay never comes here.
import type { FastifyInstance } from 'fastify'
import type { Clock } from '../core/clock.ts'
import type { Db, Sql } from '../storage/db.ts'
import { beyondQuota, type QuotaKind, type Quotas } from './quota.ts'
import { quotaStore } from './quota-store.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What a successful call adds one of, and how a project's are counted. */
    adds?: { kind: QuotaKind; present(project_id: string, now: number): Sql }
  }
}

interface Needs {
  db: Db
  clock: Clock
  quotas: Quotas
}

export function keepQuotas(app: FastifyInstance, { db, clock, quotas }: Needs): void {
  const store = quotaStore(db)
  app.addHook('onRoute', (route) => {
    const adds = route.config?.adds
    if (!adds) return
    route.preHandler = [
      ...[route.preHandler ?? []].flat(),
      async ({ caller: { project_id } }) => {
        const now = clock.now()
        const asked = { kind: adds.kind, max: quotas[adds.kind], present: adds.present(project_id, now) }
        if (!(await store.takeOne(project_id, asked, now))) throw beyondQuota(adds.kind, asked.max)
      },
    ]
  })
}
