// §10.1: /v2/agent-hints, the stored objects that `Agent-Hints-Ref` names. There is nothing to change one with.
import { Type } from 'typebox'
import type { Clock } from '../core/clock.ts'
import { listOf } from '../core/shapes.ts'
import { found, type Routes } from '../http/routes.ts'
import { sendList } from '../http/whole-list.ts'
import { AgentHints, createHints, DeletedHints, NewHints } from './hints.ts'
import { hintsPresent, hintsStore } from './hints-store.ts'

const Params = Type.Object({ hints_id: Type.String({ description: 'Begins `ah_`.' }) })
const ask = { scope: 'inference', class: 'read' } as const // R3: hints belong to whoever makes the calls
const watch = { scope: 'read', class: 'read' } as const
const tags = ['Agent hints']

export const hintsRoutes: Routes<{ clock: Clock }> = async (app, { clock }) => {
  app.post(
    '/v2/agent-hints',
    {
      config: { ...ask, adds: { kind: 'hints', present: hintsPresent } },
      schema: {
        tags,
        summary: 'Store hints',
        description: 'Unlike in the header, a section that is not valid is refused. What is stored never changes.',
        body: NewHints,
        response: { 200: AgentHints },
      },
    },
    async ({ caller, body, db }) => {
      const hints = createHints(caller.project_id, body, clock.now())
      await hintsStore(db).insert(hints, clock.now())
      return hints
    },
  )

  app.get(
    '/v2/agent-hints',
    { config: watch, schema: { tags, summary: 'List hints, newest first', response: { 200: listOf(AgentHints) } } },
    async ({ caller, db }, reply) => sendList(reply, hintsStore(db).list(caller.project_id), AgentHints),
  )

  app.get(
    '/v2/agent-hints/:hints_id',
    { config: watch, schema: { tags, summary: 'Retrieve hints', params: Params, response: { 200: AgentHints } } },
    async ({ caller, params, db }) =>
      found(await hintsStore(db).find(caller.project_id, params.hints_id), 'agent hints', params.hints_id),
  )

  app.delete(
    '/v2/agent-hints/:hints_id',
    { config: ask, schema: { tags, summary: 'Delete hints', params: Params, response: { 200: DeletedHints } } },
    async ({ caller, params, db }) => {
      const { hints_id } = params
      found((await hintsStore(db).remove(caller.project_id, hints_id)) || undefined, 'agent hints', hints_id)
      return { id: hints_id, object: 'agent_hints.deleted' as const, deleted: true as const }
    },
  )
}
