// POST /v2/bundles/{bundle_id}/warm: one real, charged generation at each target, so that its cache holds the bundle.
// Each goes the whole way of a call of the same caller: rates, budgets, usage. What they may cost is bounded before.
import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Bundle } from '../bundles/bundle.ts'
import { bundleStore } from '../bundles/bundle-store.ts'
import type { Clock } from '../core/clock.ts'
import { newTraceId, randomBase62 } from '../core/ids.ts'
import { jsonOrNone } from '../core/json-bytes.ts'
import { USD_MAX } from '../core/money.ts'
import { Refusal } from '../core/refusal.ts'
import { Label } from '../core/shapes.ts'
import { usdMicros } from '../core/spending-limit.ts'
import { found, type Routes } from '../http/routes.ts'
import { KEY_HEADER } from '../idempotency/idempotency.ts'
import { unknownModel } from '../keys/key-terms.ts'
import { noneFits } from '../routing/no-route.ts'
import type { Target } from '../routing/target.ts'
import { ONLY_HEADER, type OnlyCalls } from './only-target.ts'
import type { Generations } from './running.ts'
import { chatLimitName } from './upstream-request.ts'
import { BundleWarmed } from './warmed.ts'

const TARGETS_MAX = 16

const Params = Type.Object({ bundle_id: Type.String({ description: 'Begins `bnd_`.' }) })

const Warming = Type.Object(
  {
    model: Label('A model or an alias.'),
    cluster_ids: Type.Optional(
      Type.Array(Type.String({ maxLength: 64 }), {
        minItems: 1,
        maxItems: TARGETS_MAX,
        uniqueItems: true,
        description: 'Only these clusters, each once. Without it, every target that the model could go to.',
      }),
    ),
    max_cost_usd: Type.Optional(
      Type.Number({ minimum: 0, maximum: USD_MAX, description: 'What all calls together may cost at the most. Hard.' }),
    ),
  },
  { title: 'NewWarming' },
)

type WarmedTarget = BundleWarmed['targets'][number]

interface Needs {
  path: Generations
  clock: Clock
  only: OnlyCalls
  /** What a call is written down as, once it is settled. */
  usageOf(request: FastifyRequest, trace_id: string): Promise<Told | undefined>
}

export interface Told {
  ttft_ms: number | null
  input_tokens: number
  cached_tokens: number
  written_tokens: number
  charged_micros: number
}

export const warmRoutes: Routes<Needs> = async (app, { path, clock, only, usageOf }) => {
  app.post(
    '/v2/bundles/:bundle_id/warm',
    {
      // Its calls are of the class inference, each of them.
      config: { scope: 'inference', class: 'read', idempotency: 'outside' },
      schema: {
        tags: ['Bundles'],
        summary: 'Warm a bundle',
        description:
          'One real generation of a token at each target, charged like every call. Nothing is asked for that could ' +
          'cost more than is left of `max_cost_usd`.',
        params: Params,
        body: Warming,
        response: { 200: BundleWarmed },
      },
    },
    async (request) => {
      const { caller, params, body, db } = request
      const { bundle } = found(
        await bundleStore(db).find(caller.project_id, params.bundle_id),
        'bundle',
        params.bundle_id,
      )
      const most_micros = body.max_cost_usd === undefined ? undefined : usdMicros('max_cost_usd', body.max_cost_usd)
      const targets = await targetsFor(request, body)
      const warmed: WarmedTarget[] = []
      let charged_micros = 0
      for (const target of targets) {
        const left = most_micros === undefined ? undefined : most_micros - charged_micros
        const one = await warm(request, { bundle, model: body.model, target, most_micros: left })
        charged_micros += one.charged_micros
        warmed.push(one)
      }
      return {
        object: 'bundle.warmed' as const,
        bundle_id: bundle.id,
        model: body.model,
        charged_micros,
        targets: warmed,
      }
    },
  )

  async function targetsFor({ caller }: FastifyRequest, { model, cluster_ids }: Static<typeof Warming>) {
    const asking = { model, kind: 'chat' as const, session_id: undefined, hints: undefined, caller }
    const answer = await path.explain({ ...asking, trace_id: newTraceId(clock.now()) })
    if (answer.kind === 'unknown_model') throw unknownModel(model, caller)
    if (answer.kind === 'none_fit') throw noneFits(model, answer.dropped)
    const { candidates } = answer.route
    if (!cluster_ids) return candidates.slice(0, TARGETS_MAX)
    return cluster_ids.map((id) => {
      const target = candidates.find(({ cluster_id }) => cluster_id === id)
      if (!target)
        throw new Refusal('not_found', `'cluster_ids': '${id}' is no cluster that '${model}' could go to now.`)
      return target
    })
  }

  async function warm(request: FastifyRequest, asked: Asked): Promise<WarmedTarget> {
    const { target, most_micros } = asked
    const name = randomBase62(32)
    const { caller } = request
    // A key is looked up anew for each call; a browser's session would not count below /v1.
    only.add(name, { target_id: target.id, most_micros, ...(caller.person_id !== undefined && { caller }) })
    try {
      const answer = await send(app, request, name, asked)
      const trace_id = answer.headers['agent-trace-id']
      const told = answer.status === 200 && trace_id ? await usageOf(request, trace_id) : undefined
      if (told)
        return { ...about(target), status: 'warmed', reason: null, trace_id: trace_id ?? null, ...figuresOf(told) }
      const status = only.isTooDear(name) ? 'skipped' : 'failed'
      return { ...about(target), status, reason: answer.message, trace_id: trace_id ?? null, ...NOTHING }
    } finally {
      only.remove(name)
    }
  }
}

interface Asked {
  bundle: Bundle
  model: string
  target: Target
  most_micros: number | undefined
}

const NOTHING = { ttft_ms: null, input_tokens: 0, cached_tokens: 0, written_tokens: 0, charged_micros: 0 }

const about = ({ id, provider, model, cluster_id }: Target) => ({
  target: id,
  provider,
  model,
  cluster_id: cluster_id ?? null,
})

const figuresOf = ({ ttft_ms, input_tokens, cached_tokens, written_tokens, charged_micros }: Told) => ({
  ttft_ms,
  input_tokens,
  cached_tokens,
  written_tokens,
  charged_micros,
})

/** Who is asking goes along, and from where; what they asked for otherwise does not. */
const CARRIED = ['authorization', 'host', 'user-agent', 'x-forwarded-for']

/** R21: a repeat of what broke off half way finds the answers of targets that were asked, and pays for the others. */
const keyFor = ({ keyed }: FastifyRequest, target: Target) =>
  keyed ? { [KEY_HEADER]: `warm/${hash('sha256', `${keyed.digest} ${target.id}`, 'hex')}` } : {}

/** A call like any other, made here: the shortest that there is. */
async function send(app: FastifyInstance, request: FastifyRequest, name: string, { bundle, model, target }: Asked) {
  const carried = CARRIED.flatMap((header) => {
    const value = request.headers[header]
    return typeof value === 'string' ? [[header, value] as const] : []
  })
  const answer = await app.inject({
    method: 'POST',
    url: '/v1/chat/completions',
    remoteAddress: request.raw.socket.remoteAddress ?? '127.0.0.1',
    headers: {
      ...Object.fromEntries(carried),
      ...keyFor(request, target),
      'agent-bundle': bundle.id,
      [ONLY_HEADER]: name,
    },
    payload: { model, messages: [{ role: 'user', content: '.' }], [chatLimitName(target)]: 1 },
  })
  const body = jsonOrNone(answer.payload) as { error?: { message?: string } } | undefined
  return {
    status: answer.statusCode,
    headers: answer.headers as Record<string, string | undefined>,
    message: body?.error?.message ?? null,
  }
}
