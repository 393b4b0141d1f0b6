// R78: bodies that one project sends, or that wait with its calls, leave memory for those of others. A request has its
// place from its head to its answer. What is small is not counted: how many connections there are bounds it.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { JsonBody } from '../core/json-bytes.ts'
import { type MemoryRoom, type RoomPlace, UNCOUNTED_BYTES } from '../core/memory-room.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** What a large body has; undefined where it has none. */
    body_place: RoomPlace | undefined
    /** Whoever works on it gives its place back, and not its answer. */
    keeps_body: boolean
  }
}

/** Behind authentication: whose body it is must be known. */
export function boundBodies(app: FastifyInstance, room: MemoryRoom): void {
  app.decorateRequest('body_place', undefined)
  app.decorateRequest('keeps_body', false)
  app.addHook('onRequest', (request, reply, done) => {
    const bytes = comingBytes(request)
    if (bytes <= UNCOUNTED_BYTES || reply.raw.destroyed) return done() // who has left sends no more
    const place = room.place(request.caller.project_id)
    try {
      place.take(bytes)
    } catch (error) {
      reply.header('connection', 'close') // the body is not read
      return done(error as Error)
    }
    reply.raw.once('close', () => {
      if (!request.keeps_body) place.giveBack()
    })
    request.body_place = place
    done()
  })
  app.addHook('preValidation', (request, reply, done) => {
    const { body_place, body } = request
    if (body_place && !isSized(request)) {
      body_place.giveBack()
      if (!reply.raw.destroyed) body_place.take((body as Partial<JsonBody> | undefined)?.bytes?.length ?? 0)
    }
    done()
  })
}

/** Forms are read as they come, and counted where they lie. What has no size may come to as much as is taken. */
function comingBytes(request: FastifyRequest): number {
  const { method, headers, route } = request
  if (method === 'GET' || method === 'HEAD' || headers['content-type']?.startsWith('multipart/')) return 0
  if (!isSized(request)) return route.bodyLimit
  return Math.min(Number(headers['content-length'] ?? 0), route.bodyLimit)
}

const isSized = ({ headers }: FastifyRequest) =>
  headers['content-encoding'] === undefined && headers['transfer-encoding'] === undefined
