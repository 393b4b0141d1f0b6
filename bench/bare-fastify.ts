// The reference for control-plane writes: the same framework, body and answer, and nothing else.
import Fastify from 'fastify'

const app = Fastify()
app.get('/ready', async () => ({}))
app.post('/v2/byoc/clusters', async (request) => ({
  ...(request.body as object),
  id: 'byc_bench',
  object: 'byoc_cluster',
  status: 'registering',
  autoscaling: { min_replicas: 1, max_replicas: 4, target_ttft_ms: 500 },
  created_at: '2026-01-01T00:00:00.000Z',
}))
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' })
