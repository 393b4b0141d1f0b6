// POST /v2/route-explain: where a request would go and why not elsewhere. Calls nobody and stores nothing.
import { type Static, Type } from 'typebox'
import { newId } from '../core/ids.ts'
import { Label } from '../core/shapes.ts'
import type { Routes } from '../http/routes.ts'
import { unknownModel } from '../keys/key-terms.ts'
import { CALL_KINDS } from '../providers/provider.ts'
import type { Target } from '../routing/target.ts'
import type { Generations } from './running.ts'

const Question = Type.Object(
  {
    model: Label('A model or an alias.'),
    kind: Type.Optional(
      Type.Enum(CALL_KINDS, { description: 'Of the call: a target may be left alone for one kind. Default `chat`.' }),
    ),
    session_id: Type.Optional(Type.String({ maxLength: 256 })),
    trace_id: Type.Optional(Type.String({ maxLength: 64, description: 'Repeats the weighted pick of that trace.' })),
  },
  { title: 'RouteQuestion' },
)
export type RouteQuestion = Static<typeof Question>

const Candidate = Type.Object({
  target: Type.String(),
  profile: Type.String(),
  provider: Type.String(),
  model: Type.String(),
  region: Type.String(),
})

const Explanation = Type.Object(
  {
    object: Type.Literal('route_explanation'),
    decision: Type.Enum(['route', 'none_fit']),
    candidates: Type.Array(Candidate, { description: 'Best first; the rest are where to go when it fails.' }),
    dropped: Type.Array(Type.Object({ target: Type.String(), reason: Type.String() })),
    alias_release_id: Type.Optional(Type.String()),
  },
  { title: 'RouteExplanation' },
)
export type RouteExplanation = Static<typeof Explanation>

export const explainRoutes: Routes<{ path: Generations }> = async (app, { path }) => {
  app.post(
    '/v2/route-explain',
    {
      // What is known of routes is read past any transaction, and a cluster may have to be asked for its models.
      config: { scope: 'read', class: 'read', idempotency: 'outside' },
      schema: { tags: ['Routing'], summary: 'Explain a route', body: Question, response: { 200: Explanation } },
    },
    async ({ caller, body }) => {
      const { model, kind = 'chat', session_id, trace_id = newId('trc') } = body
      const answer = await path.explain({ model, kind, session_id, trace_id, caller, hints: undefined })
      const object = 'route_explanation' as const
      if (answer.kind === 'unknown_model') throw unknownModel(model, caller)
      if (answer.kind === 'none_fit')
        return { object, decision: 'none_fit' as const, candidates: [], dropped: [...answer.dropped] }
      const { candidates, dropped, alias_release_id } = answer.route
      return {
        object,
        decision: 'route' as const,
        candidates: candidates.map(shown),
        dropped: [...dropped],
        ...(alias_release_id && { alias_release_id }),
      }
    },
  )
}

const shown = ({ id, profile, provider, model, region }: Target) => ({ target: id, profile, provider, model, region })
