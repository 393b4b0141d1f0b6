// Purge jobs put together: what they erase, who carries them out, and how they are spoken of.
import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../core/clock.ts'
import type { Sealing } from '../core/sealing.ts'
import type { Routes } from '../http/routes.ts'
import { RECEIPT_PURPOSE } from '../purges/purge-receipt.ts'
import { purgeRoutes } from '../purges/purge-routes.ts'
import { purgeRun } from '../purges/purge-run-store.ts'
import type { OpenDb } from '../storage/db.ts'
import type { Eraser } from '../storage/erasing.ts'

export interface PurgeParts {
  db: OpenDb
  clock: Clock
  logger: FastifyBaseLogger
  seals: Sealing
  erasers: readonly Eraser[]
}

export function purging({ db, clock, logger, seals, erasers }: PurgeParts) {
  const sign = (text: string) => seals.sign(RECEIPT_PURPOSE, text)
  const routes: Routes = async (app) => void (await app.register(purgeRoutes, { clock, erasers, sign }))
  const runner = purgeRun({
    ...{ db, clock, erasers, sign },
    onFailure: (err, purge_job_id) => logger.error({ err, purge_job_id }, 'a step of a purge job failed'),
  })
  return { routes, runner }
}
