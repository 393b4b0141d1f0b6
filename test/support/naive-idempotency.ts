// Idempotency as it is often written, with one mistake at a time. The checks of §11 run against it to show that each
// of them can fail.
import Fastify, { type FastifyRequest } from 'fastify'

export type Mistake =
  | 'none'
  | 'raw address' // the triple holds the address as it was sent
  | 'no project' // the triple leaves the project out
  | 'keeps errors' // a 400 is replayed too
  | 'validates first' // a wrong body is refused before the look-up
  | 'body counts' // another body with the same key executes
  | 'reserialises' // the replay is made anew from the parsed value
  | 'any method' // DELETE is replayed too
  | 'no marker' // nothing tells that the first is still running
  | 'late release' // a failed request holds its key

interface Kept {
  status: number
  body: string
}

/** One POST that registers clusters, for any bearer; `beforeAnswer` lets a test hold a request in its handler. */
export function naiveIdempotency(mistake: Mistake, beforeAnswer: () => Promise<void> = async () => {}) {
  const app = Fastify()
  const [kept, running] = [new Map<string, Kept>(), new Set<string>()]
  let effects = 0

  const tripleOf = ({ headers, url, routeOptions, body, method }: FastifyRequest) => {
    const path = mistake === 'raw address' ? url : routeOptions.url
    const project = mistake === 'no project' ? '' : headers.authorization
    const more = mistake === 'body counts' ? JSON.stringify(body) : ''
    return JSON.stringify([
      project,
      path,
      mistake === 'any method' ? '' : method,
      headers['agent-idempotency-key'],
      more,
    ])
  }

  app.all('/v2/byoc/clusters', async (request, reply) => {
    const { name } = (request.body ?? {}) as { name?: string }
    const keyed = request.headers['agent-idempotency-key'] !== undefined
    const eligible = keyed && (request.method === 'POST' || mistake === 'any method')
    const triple = tripleOf(request)
    if (request.method === 'GET') return { data: Array(effects).fill({}) }
    if (mistake === 'validates first' && !name) return reply.code(400).send({ error: {} })
    const before = eligible ? kept.get(triple) : undefined
    if (before)
      return answer(
        before.status,
        mistake === 'reserialises' ? JSON.stringify(JSON.parse(before.body)) : before.body,
        'true',
      )
    if (eligible && mistake !== 'no marker' && running.has(triple))
      return answer(409, '{"error":{"type":"idempotency_conflict"}}', 'false')
    running.add(triple)
    await beforeAnswer()
    const status = name ? 200 : 400
    if (status === 200) effects++
    const body = `{"id": "byc_${effects}", "total_ms": 1.0, "name": ${JSON.stringify(name ?? null)}}`
    if (eligible && (status === 200 || mistake === 'keeps errors')) kept.set(triple, { status, body })
    if (status === 200 || mistake !== 'late release') running.delete(triple)
    return answer(status, body, eligible ? 'false' : undefined)

    function answer(code: number, text: string, replay: string | undefined) {
      if (replay) reply.header('agent-idempotent-replay', replay)
      return reply.code(code).header('content-type', 'application/json; charset=utf-8').send(text)
    }
  })
  return { app, effects: async () => effects }
}
