// POST /v2/route-explain: where a request would go and why not elsewhere. Calls nobody and stores nothing.
import { type Static, Type } from 'typebox'
import type { Caller } from '../core/caller.ts'
import { newId } from '../core/ids.ts'
import { Label, orNull } from '../core/shapes.ts'
import type { Routes } from '../http/routes.ts'
import { unknownModel } from '../keys/key-terms.ts'
import { aliasStore } from '../models/alias-store.ts'
import { CALL_KINDS, type CallKind } from '../providers/provider.ts'
import type { Answer } from '../routing/choose-route.ts'
import type { Placing } from '../routing/placement.ts'
import type { Target } from '../routing/target.ts'
import type { Db } from '../storage/db.ts'
import { candidateShape } from '../usage/traced-placing.ts'
import type { Asking } from './asking.ts'
import { candidateOf } from './placing.ts'
import type { Generations } from './running.ts'
import { noSuchEndpoint, takesKind } from './spoken-protocol.ts'

const BYTES_PER_TOKEN_USUAL = 4

const Question = Type.Object(
  {
    model: Label('A model or an alias.'),
    kind: Type.Optional(
      Type.Enum(CALL_KINDS, { description: 'Of the call: a target may be left alone for one kind. Default `chat`.' }),
    ),
    session_id: Type.Optional(Type.String({ maxLength: 256 })),
    trace_id: Type.Optional(Type.String({ maxLength: 64, description: 'Repeats the weighted pick of that trace.' })),
    request: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'The body of the call (`messages`, `tools`, …): tells what clusters hold of its prompt.',
      }),
    ),
    reuse_preference: Type.Optional(
      Type.Enum(['prefer', 'require', 'avoid'], {
        description: 'As `reuse.preference` of the hints. Default `prefer`.',
      }),
    ),
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
  standing: orNull(
    Type.Object(candidateShape, {
      description:
        'How it stands among clusters that serve the call alike: the least (in flight + 5 × uncached) ÷ rate comes ' +
        'first. Null where nothing had to be chosen by it.',
    }),
  ),
})

const Explanation = Type.Object(
  {
    object: Type.Literal('route_explanation'),
    decision: Type.Enum(['route', 'none_fit']),
    candidates: Type.Array(Candidate, { description: 'Best first; the rest are where to go when it fails.' }),
    dropped: Type.Array(Type.Object({ target: Type.String(), reason: Type.String() })),
    alias_release_id: Type.Optional(Type.String()),
    replay_run_id: Type.Optional(Type.String({ description: 'The run that the release shows as its evidence.' })),
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
    async ({ caller, body, db }) => {
      const asking = askingOf(caller, body)
      const answer = await path.explain(asking)
      const object = 'route_explanation' as const
      if (answer.kind === 'unknown_model') throw unknownModel(body.model, caller)
      const { candidates, dropped } = placesFor(asking.kind, answer)
      if (answer.kind === 'none_fit' || candidates.length === 0)
        return { object, decision: 'none_fit' as const, candidates: [], dropped }
      const { alias_release_id, placing } = answer.route
      const release = await releaseOf(db, caller.project_id, alias_release_id)
      return {
        object,
        decision: 'route' as const,
        candidates: candidates.map((target) => shown(target, placing)),
        dropped,
        ...(alias_release_id && { alias_release_id }),
        ...(release?.evidence && { replay_run_id: release.evidence.replay_run_id }),
      }
    },
  )
}

/** A call goes to none of those that would have to be asked for what their protocol does not have. */
function placesFor(kind: CallKind, answer: Exclude<Answer, { kind: 'unknown_model' }>) {
  if (answer.kind === 'none_fit') return { candidates: [], dropped: [...answer.dropped] }
  const { candidates, dropped } = answer.route
  const others = candidates.filter((target) => !takesKind(target, kind))
  return {
    candidates: candidates.filter((target) => takesKind(target, kind)),
    dropped: [...dropped, ...others.map((target) => ({ target: target.id, reason: noSuchEndpoint(target) }))],
  }
}

const releaseOf = async (db: Db, project_id: string, id: string | undefined) =>
  id === undefined ? undefined : aliasStore(db).findRelease(project_id, id)

/** As a call would ask. Its size is that of the request as JSON. */
function askingOf(caller: Caller, body: RouteQuestion): Asking {
  const { model, kind = 'chat', session_id, trace_id = newId('trc'), request, reuse_preference } = body
  const hints = reuse_preference && { reuse: { preference: reuse_preference } }
  const asking: Asking = { model, kind, session_id, trace_id, caller, hints }
  if (!request) return asking
  const bytes = Buffer.from(JSON.stringify(request))
  return { ...asking, json: request, body: bytes, input_estimate: Math.ceil(bytes.length / BYTES_PER_TOKEN_USUAL) }
}

function shown({ id, profile, provider, model, region }: Target, placing: Placing | undefined) {
  const standing = placing?.standings.find(({ target_id }) => target_id === id)
  if (!standing) return { target: id, profile, provider, model, region, standing: null }
  const { target: _target, ...told } = candidateOf(standing)
  return { target: id, profile, provider, model, region, standing: told }
}
