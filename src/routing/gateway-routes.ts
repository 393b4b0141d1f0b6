// GET /v2/gateway: how this gateway is set up, as far as its users may know: no secret, and no address of an upstream.
import { type Static, Type } from 'typebox'
import { SIGN_UP_MODES, type SignUpMode } from '../accounts/account.ts'
import { KEPT_MS as TRANSITIONS_KEPT_MS } from '../clusters/cluster-transition.ts'
import { HOUR_MS } from '../core/clock.ts'
import { PROTOCOLS } from '../credentials/platform.ts'
import type { Routes } from '../http/routes.ts'
import { RETENTION_MS } from '../idempotency/idempotency.ts'
import { type Limits, LimitsShape } from '../limits/policy.ts'
import { AliasTarget } from '../models/alias.ts'
import { Boundary } from '../models/boundary.ts'
import type { OperatorAlias } from '../models/operator-alias.ts'
import { PRICES_AS_OF } from '../models/price-book.ts'
import { ShownModel, shownModel } from '../models/shown-model.ts'
import type { ProviderSettings } from '../providers/provider-config.ts'
import { KEPT_MS as REFUSALS_KEPT_MS } from '../refusals/refusal-kind.ts'
import { type Gateway, isConfigured } from './gateway.ts'

const MODELS_MAX = 1_000 // of one provider; the rest is counted

const micros = (description: string) => Type.Integer({ description: `${description}, in micro-USD.` })
const ms = () => Type.Integer({ description: 'Milliseconds.' })

const GatewayProvider = Type.Object({
  id: Type.String({ description: 'As `Agent-Resolved-Provider` says it.' }),
  protocol: Type.Enum([...PROTOCOLS]),
  region: Type.String(),
  max_concurrency: Type.Integer({ description: 'Calls at once by each process, for all projects together.' }),
  responses: Type.Boolean({ description: 'It has a Responses API of its own.' }),
  unlisted_models: Type.Boolean({ description: 'It is asked for models that are not listed here as well.' }),
  byok: Type.Boolean({ description: 'Credentials of projects that give no address of their own come here.' }),
  is_draining: Type.Optional(Type.Literal(true, { description: 'It takes no new calls.' })),
  retries: Type.Integer({ description: 'How often a call asks it again that it surely did not execute.' }),
  probe_every_s: Type.Optional(
    Type.Integer({ description: 'How often it is asked, outside of calls, whether it is there.' }),
  ),
  timeouts: Type.Object({ connect_ms: ms(), first_byte_ms: ms(), idle_ms: ms(), total_ms: ms() }),
  models_total: Type.Integer(),
  models: Type.Array(ShownModel, { description: `At most ${MODELS_MAX} of them.` }),
})

const GatewayAlias = Type.Object({
  name: Type.String(),
  release_id: Type.String({ description: 'As `Agent-Alias-Release` says it; another where the targets are others.' }),
  targets: Type.Array(AliasTarget),
  boundary: Type.Optional(Boundary),
})

const GatewayView = Type.Object(
  {
    object: Type.Literal('gateway'),
    version: Type.String(),
    store: Type.Enum(['sqlite', 'postgres']),
    execution_mode: Type.Enum(['live', 'placeholder'], { description: '`placeholder`: no provider is configured.' }),
    sign_up: Type.Enum([...SIGN_UP_MODES], { description: 'Who may make an account.' }),
    prices_as_of: Type.String({ description: 'The day of the built-in price book, YYYY-MM-DD.' }),
    providers: Type.Array(GatewayProvider, { description: 'In the order of preference for a model.' }),
    aliases: Type.Array(GatewayAlias, {
      description: 'The operator’s, for all projects. A project’s own alias of the same name wins.',
    }),
    fees: Type.Object({
      byok_micros: micros('A generation with a credential of your own'),
      byoc_micros: micros('A generation on a cluster of your own'),
    }),
    deadlines: Type.Object({
      waiver_micros: micros('What deadlines in mid-stream may make free of charge, for each project and day'),
      waiver_pct: Type.Integer({ description: 'Or this part of what was charged that day, where that is more.' }),
    }),
    limits: Type.Object(
      {
        edge: LimitsShape.properties.edge,
        key: LimitsShape.properties.key,
        project: LimitsShape.properties.project,
        models: LimitsShape.properties.models,
        shadow: LimitsShape.properties.shadow,
      },
      { description: 'What holds for every address, key and project. A key may have limits of its own.' },
    ),
    retention: Type.Object({
      full_fidelity: Type.Boolean({
        description: 'Whether input items and session contents are kept, sealed, and calls may be recorded.',
      }),
      recordings_days: Type.Integer({ description: 'How long recordings are kept.' }),
      kept_answers_hours: Type.Integer({ description: 'How long an idempotency key gives the same answer.' }),
      refusals_days: Type.Integer(),
      cluster_transitions_days: Type.Integer(),
    }),
  },
  { title: 'Gateway' },
)
export type GatewayView = Static<typeof GatewayView>

interface Needs {
  version: string
  store: GatewayView['store']
  sign_up: SignUpMode
  gateway: Gateway
  limits: Limits
}

export const gatewayRoutes: Routes<Needs> = async (app, needs) => {
  app.get(
    '/v2/gateway',
    {
      config: { scope: 'read', class: 'read' },
      schema: {
        tags: ['Project'],
        summary: 'How the gateway is set up',
        description: 'The effective settings: providers and their models, prices, fees, limits, retention. No secrets.',
        response: { 200: GatewayView },
      },
    },
    async () => viewOf(needs),
  )
}

/** Field by field: what is added to the settings one day is not shown until somebody decides so. */
function viewOf({ version, store, sign_up, gateway, limits }: Needs): GatewayView {
  const { edge, key, project, models, shadow } = limits
  return {
    object: 'gateway',
    version,
    store,
    execution_mode: isConfigured(gateway) ? 'live' : 'placeholder',
    sign_up,
    prices_as_of: PRICES_AS_OF,
    providers: gateway.providers.map(shownProvider),
    aliases: gateway.aliases.map(shownAlias),
    fees: { byok_micros: gateway.fees.byok_micros, byoc_micros: gateway.fees.byoc_micros },
    deadlines: { waiver_micros: gateway.deadlines.waiver_micros, waiver_pct: gateway.deadlines.waiver_pct },
    limits: { edge, key, project, models, shadow },
    retention: {
      full_fidelity: gateway.full_fidelity,
      recordings_days: gateway.retention_days,
      kept_answers_hours: RETENTION_MS / HOUR_MS,
      refusals_days: REFUSALS_KEPT_MS / (24 * HOUR_MS),
      cluster_transitions_days: TRANSITIONS_KEPT_MS / (24 * HOUR_MS),
    },
  }
}

function shownProvider(provider: ProviderSettings): GatewayView['providers'][number] {
  const { id, protocol, region, max_concurrency, responses, unlisted_models, byok, models } = provider
  const { connect_ms, first_byte_ms, idle_ms, total_ms } = provider.timeouts
  return {
    id,
    protocol,
    region,
    max_concurrency,
    responses,
    unlisted_models,
    byok,
    ...(provider.is_draining && { is_draining: true as const }),
    retries: provider.retries ?? 0,
    ...(provider.probe_every_s !== undefined && { probe_every_s: provider.probe_every_s }),
    timeouts: { connect_ms, first_byte_ms, idle_ms, total_ms },
    models_total: models.length,
    models: models.slice(0, MODELS_MAX).map(shownModel),
  }
}

function shownAlias({ name, release_id, targets, boundary }: OperatorAlias): Static<typeof GatewayAlias> {
  return { name, release_id, targets: [...targets], ...(boundary && { boundary }) }
}
