// GET /v2/traces/{trace_id}: one generation's life as a timeline.
import { Type } from 'typebox'
import { found, type Routes } from '../http/routes.ts'
import { Trace, traceOf } from './trace.ts'
import { usageStore } from './usage-store.ts'

const Params = Type.Object({ trace_id: Type.String({ description: 'Begins `trc_`; the answer had it in a header.' }) })

export const traceRoutes: Routes = async (app) => {
  app.get(
    '/v2/traces/:trace_id',
    {
      config: { scope: 'read', class: 'read' },
      schema: {
        tags: ['Usage'],
        summary: 'One generation from arrival to end',
        description:
          'Admission, hold, each attempt, the first token, the answer and the settling as a timeline, and the ' +
          '`Agent-*` headers of the answer in a sentence each. A request that was refused leaves no trace.',
        params: Params,
        response: { 200: Trace },
      },
    },
    async ({ caller, params: { trace_id }, db }) =>
      traceOf(found(await usageStore(db).findTraced(caller.project_id, trace_id), 'trace', trace_id)),
  )
}
