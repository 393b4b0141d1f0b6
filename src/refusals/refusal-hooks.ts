// Counts every refusal that a project's request met, whoever threw it, and keeps those of generations (R80). A request
// without a caller is nobody's: the edge and 401 are in /metrics only. Nor does the count have what people look up in
// vain with their browsers: an old link to a key would stand among the refusals of agents.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Refusal } from '../core/refusal.ts'
import { asRefusal } from '../http/answers.ts'
import { generationAsked } from '../http/generation-asked.ts'
import { kindOf, type RefusalKind } from './refusal-kind.ts'
import type { RefusalTally } from './refusal-tally.ts'
import { type ToldRefusal, toldBy } from './refused-call.ts'
import type { RefusedCalls } from './refused-calls.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** For what is told without being thrown, such as an upstream's own 400. */
    noteRefused(refusal: Refusal, told: ToldRefusal): void
  }
}

const TRACE = 'agent-trace-id'

export function recordRefusals(
  app: FastifyInstance,
  tally: RefusalTally,
  calls: RefusedCalls,
  onGenerationRefused: (kind: RefusalKind) => void,
): void {
  function note(request: FastifyRequest, refusal: Refusal, told: () => ToldRefusal): void {
    const kind = kindOf(refusal)
    if (!kind) return
    if (!isLookUp(request)) tally.note(request.caller.project_id, kind)
    if (request.route.config.class === 'inference') onGenerationRefused(kind)
    const { about } = refusal
    const asked = about?.has_event ? undefined : generationAsked(request)
    if (asked) calls.note({ asked, kind, about, told: told() })
  }

  app.decorateRequest('noteRefused', function (this: FastifyRequest, refusal, told) {
    note(this, refusal, () => told)
  })
  app.addHook('onError', (request, reply, error, done) => {
    if (request.caller) {
      nameTrace(request, reply)
      const refusal = asRefusal(error)
      note(request, refusal, () => toldBy(refusal, reply.getHeaders()))
    }
    done()
  })
}

const isLookUp = ({ caller, method }: FastifyRequest) =>
  caller.person_id !== undefined && (method === 'GET' || method === 'HEAD')

/** Every answer to a generation says how to look it up. */
function nameTrace(request: FastifyRequest, reply: FastifyReply): void {
  const { trace_id } = generationAsked(request) ?? {}
  if (trace_id && !reply.hasHeader(TRACE)) reply.header(TRACE, trace_id)
}
