// Counts and times every request. Listens to the raw response: Fastify's onResponse is silent when a client leaves.
import type { FastifyInstance } from 'fastify'
import { REPLAY_HEADER } from '../idempotency/idempotency.ts'
import type { Metrics } from './metrics.ts'

export function measureRequests(app: FastifyInstance, { requests, inFlight, aborted, idempotency }: Metrics): void {
  app.addHook('onRequest', (request, reply, done) => {
    inFlight.inc()
    reply.raw.once('close', () => {
      inFlight.dec()
      if (!reply.raw.writableFinished) aborted.inc()
      const { method } = request
      const route = request.route.url ?? 'unknown'
      requests.observe({ method, route, status: reply.statusCode }, reply.elapsedTime / 1_000)
      const replayed = reply.getHeader(REPLAY_HEADER)
      if (replayed === 'true') idempotency.inc({ outcome: 'replayed' })
      else if (replayed === 'false') idempotency.inc({ outcome: reply.statusCode === 409 ? 'conflict' : 'executed' })
    })
    done()
  })
}
