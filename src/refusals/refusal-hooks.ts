// Counts every refusal that a project's request met, whoever threw it. A request without a caller is nobody's: the edge
// and 401 are in /metrics only.
import type { FastifyInstance } from 'fastify'
import { asRefusal } from '../http/answers.ts'
import { kindOf } from './refusal-kind.ts'
import type { RefusalTally } from './refusal-tally.ts'

export function countRefusals(app: FastifyInstance, tally: RefusalTally): void {
  app.addHook('onError', (request, _reply, error, done) => {
    const kind = request.caller && kindOf(asRefusal(error))
    if (kind) tally.note(request.caller.project_id, kind)
    done()
  })
}
