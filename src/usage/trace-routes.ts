// GET /v2/traces/{trace_id}: one generation's life as a timeline, whether it was answered, failed or refused (R80).
import { Type } from 'typebox'
import { traceIdOf } from '../core/ids.ts'
import { Refusal } from '../core/refusal.ts'
import type { Routes } from '../http/routes.ts'
import type { RefusedCall } from '../refusals/refused-call.ts'
import type { Db } from '../storage/db.ts'
import { refusedTrace, Trace, type TracedRecording, traceOf } from './trace.ts'
import { usageStore } from './usage-store.ts'

const Params = Type.Object({
  trace_id: Type.String({
    description:
      'Begins `trc_`, `req_` or `resp_`: what the answer had as `Agent-Trace-Id`, as `x-request-id`, or as the id of ' +
      'a response that was stored.',
  }),
})

interface Needs {
  /** Refused generations, with those that are in no store yet. */
  refusedOn(db: Db): { find(project_id: string, trace_id: string): Promise<RefusedCall | undefined> }
  traceOfResponse(db: Db): (project_id: string, response_id: string) => Promise<string | undefined>
  recordingOf(db: Db, project_id: string, trace_id: string): Promise<TracedRecording>
}

export const traceRoutes: Routes<Needs> = async (app, { refusedOn, traceOfResponse, recordingOf }) => {
  app.get(
    '/v2/traces/:trace_id',
    {
      config: { scope: 'read', class: 'read' },
      schema: {
        tags: ['Usage'],
        summary: 'One generation from arrival to end',
        description:
          'Admission, hold, each attempt, the first token, the answer and the settling as a timeline, and the ' +
          '`Agent-*` headers of the answer in a sentence each. Of one that was refused: which layer said no, why, ' +
          'and what the upstream said. Refusals are found for 30 days: of equal ones the first of each minute, with ' +
          'how many there were. Those of other replicas come a few seconds late.',
        params: Params,
        response: { 200: Trace },
      },
    },
    async ({ caller: { project_id }, params, db }) => {
      const trace_id = await traceNamed(params.trace_id, (id) => traceOfResponse(db)(project_id, id))
      const traced = await usageStore(db).findTraced(project_id, trace_id)
      const refused = traced ? undefined : await refusedOn(db).find(project_id, trace_id)
      const trace = traced ? traceOf(traced) : refused && refusedTrace(refused)
      if (!trace) throw unknown(params.trace_id)
      return { ...trace, recording: await recordingOf(db, project_id, trace_id) }
    },
  )
}

/** Where a response is not known, its own id is looked for, and not found. */
async function traceNamed(id: string, ofResponse: (id: string) => Promise<string | undefined>): Promise<string> {
  if (id.startsWith('req_')) return traceIdOf(id)
  return id.startsWith('resp_') ? ((await ofResponse(id)) ?? id) : id
}

const unknown = (id: string) =>
  new Refusal(
    'not_found',
    `No generation '${id}' in this project. Of many equal refusals only the first of each minute are kept.`,
  )
