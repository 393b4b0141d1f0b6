// The whole service on one page: hooks in the order in which a request meets them (R15), then each room's routes.
import type { FastifyBaseLogger } from 'fastify'
import { cachePlanRoutes } from './cache-plan/cache-plan-routes.ts'
import { clusterRoutes } from './clusters/cluster-routes.ts'
import type { Clock } from './core/clock.ts'
import { sealing } from './core/sealing.ts'
import { authenticate, authorize } from './http/auth-hooks.ts'
import { buildFastify } from './http/fastify.ts'
import { serveReference } from './http/reference.ts'
import { makePostsIdempotent } from './idempotency/idempotency-hooks.ts'
import { idempotencyStore } from './idempotency/idempotency-store.ts'
import { keyHolders } from './keys/key-holders.ts'
import { keyRoutes } from './keys/key-routes.ts'
import { keyStore } from './keys/key-store.ts'
import { keyUse } from './keys/key-use.ts'
import type { Db, OpenDb } from './storage/db.ts'
import { metrics } from './telemetry/metrics.ts'
import { measureRequests } from './telemetry/metrics-hooks.ts'
import { readinessOf } from './telemetry/readiness.ts'
import { telemetryRoutes } from './telemetry/telemetry-routes.ts'

export interface Parts {
  db: OpenDb
  clock: Clock
  logger: FastifyBaseLogger
  /** Seals what must not lie readable in the store. */
  secret: string
  /** Names this process among the replicas. */
  process_id: string
  version: string
}

export type Service = Awaited<ReturnType<typeof buildService>>

export async function buildService({ db, clock, logger, secret, process_id, version }: Parts) {
  const counts = metrics()
  const readiness = readinessOf([{ name: 'store', ping: db.ping }])
  const uses = keyUse(keyStore(db), clock)
  const holders = await keyHolders(keyStore(db), uses)
  const seals = sealing(secret)
  const idempotencyOn = (on: Db) => idempotencyStore(on, seals, process_id)

  const app = buildFastify(logger)
  measureRequests(app, counts)
  app.addHook('onSend', async (_request, reply) => {
    if (readiness.isDraining()) reply.header('connection', 'close')
  })
  await serveReference(app, version)
  await app.register(telemetryRoutes, { metrics: counts, readiness })

  await app.register(async (api) => {
    api.decorateRequest('caller')
    api.decorateRequest('db')
    api.addHook('onRequest', (request, _reply, done) => {
      request.db = db
      done()
    })
    api.addHook('onRequest', authenticate(holders)) //       §5 → 401
    api.addHook('onRequest', authorize) //                   R3 → 403
    makePostsIdempotent(api, { db, clock, storeOn: idempotencyOn }) // §11 → replay, 409

    await api.register(keyRoutes, { clock, uses })
    await api.register(clusterRoutes, { clock })
    await api.register(cachePlanRoutes)
  })

  return { app, readiness, metrics: counts, uses, idempotency: idempotencyOn(db) }
}
