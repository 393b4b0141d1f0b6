// What a service keeps of contents, put together: where large ones lie, artifacts, recordings, and how each is erased.
import type { FastifyBaseLogger } from 'fastify'
import { keptArtifacts } from '../artifacts/kept-artifact-store.ts'
import type { ContentPlaces } from '../contents/content.ts'
import { contentRoom } from '../contents/kept-content-store.ts'
import type { Clock } from '../core/clock.ts'
import type { Sealing } from '../core/sealing.ts'
import { keptRecordings } from '../recordings/kept-recording-store.ts'
import type { Gateway } from '../routing/gateway.ts'
import type { OpenDb } from '../storage/db.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { erasers } from './erasers.ts'
import type { keptQuotas } from './kept-quotas.ts'
import { inDatabase } from './open-contents.ts'

interface Needs {
  db: OpenDb
  clock: Clock
  logger: FastifyBaseLogger
  seals: Sealing
  /** Without them, in the database. */
  places: ContentPlaces | undefined
  quotas: ReturnType<typeof keptQuotas>
  gateway: Gateway
  metrics: Metrics
}

export function keptContents({ db, clock, logger, seals, places, quotas, gateway, metrics }: Needs) {
  const contents = contentRoom({ db, clock, seals, places: places ?? inDatabase(db) })
  const artifacts = keptArtifacts({ db, clock, contents: contents.of('artifacts'), quota: quotas.artifacts })
  const recordings = keptRecordings({
    ...{ db, clock, seals, contents: contents.of('recordings'), quota: quotas.recordings },
    days: () => gateway.retention_days,
    isAllowed: () => gateway.full_fidelity,
    onDrop: (reason, count) => metrics.recordingsDropped.inc({ reason }, count),
    onFailure: (err) => logger.error({ err }, 'recordings could not be written'),
  })
  const { bundles, replay_outputs } = quotas
  return { contents, artifacts, recordings, erasers: erasers({ artifacts, bundles, recordings, replay_outputs }) }
}
