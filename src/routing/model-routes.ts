// GET /v1/models (§8.2, R53): what a request of this project may name. Sorted by code point. /v2/models is the same
// list for the native surface, where browsers with a session may ask too.
import { Type } from 'typebox'
import type { Caller } from '../core/caller.ts'
import { listOf } from '../core/shapes.ts'
import { list, type Routes } from '../http/routes.ts'
import { mayNameModel, unknownModel } from '../keys/key-terms.ts'
import { PRICES_AS_OF } from '../models/price-book.ts'
import type { ProviderSettings } from '../providers/provider-config.ts'
import type { Snapshot } from './choose-route.ts'
import { isConfigured } from './gateway.ts'
import type { Snapshots } from './routing-snapshot.ts'

export const Model = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('model'),
    created: Type.Integer({ description: 'Unix seconds.' }),
    owned_by: Type.String(),
  },
  { title: 'Model' },
)

const config = { scope: 'read', class: 'read' } as const
const tags = ['Inference (OpenAI-compatible)'] as const
const CREATED_S = Date.parse(PRICES_AS_OF) / 1_000

interface Needs {
  snapshots: Snapshots
  /** What a provider that is listed with what it has says it has. */
  listedAt(provider: ProviderSettings): Promise<readonly string[]>
}

export type ModelsFor = ReturnType<typeof modelsOfCaller>

/** What a caller may name. */
export const modelsOfCaller =
  ({ snapshots, listedAt }: Needs) =>
  async (caller: Caller) => {
    const snapshot = await snapshots.of(caller)
    const { providers } = snapshot.gateway
    const listed = await Promise.all(providers.map((one) => (one.list_models ? listedAt(one) : [])))
    return modelsOf(snapshot, new Map(providers.map(({ id }, at) => [id, listed[at] ?? []])), caller)
  }

export const modelRoutes: Routes<{ modelsFor: ModelsFor }> = async (app, { modelsFor }) => {
  for (const [url, tag] of [
    ['/v1/models', tags[0]],
    ['/v2/models', 'Routing'],
  ] as const)
    app.get(
      url,
      { config, schema: { tags: [tag], summary: 'List models', response: { 200: listOf(Model) } } },
      async ({ caller }) => list(await modelsFor(caller)),
    )

  app.get(
    '/v1/models/*', // ids may contain slashes
    {
      config,
      schema: {
        tags,
        summary: 'Retrieve a model',
        params: Type.Object({ '*': Type.String() }),
        response: { 200: Model },
      },
    },
    async ({ caller, params }) => {
      const id = params['*']
      const model = (await modelsFor(caller)).find((one) => one.id === id)
      if (!model) throw unknownModel(id, caller)
      return model
    },
  )
}

/** What the upstreams themselves say they have, by the provider's id. */
type Listed = ReadonlyMap<string, readonly string[]>

/** The first to claim a name is its owner, in the order of R40. Only what the key may name is listed (R62). */
function modelsOf({ aliases, clusters, credentials, gateway }: Snapshot, listed: Listed, { allowed_models }: Caller) {
  const owners = new Map<string, string>()
  const claim = (id: string, owner: string) => owners.has(id) || owners.set(id, owner)
  for (const name of aliases.keys()) claim(name, 'alias')
  for (const cluster of clusters) for (const model of cluster.models) claim(model, cluster.name)
  for (const { settings, provider } of credentials)
    for (const id of Object.keys(settings?.models ?? {})) claim(id, provider)
  for (const provider of gateway.providers) for (const { id } of provider.models) claim(id, provider.id)
  for (const [provider, models] of listed) for (const id of models) claim(id, provider)
  if (!isConfigured(gateway)) for (const { id, provider } of gateway.prices.values()) claim(id, provider)
  return [...owners]
    .filter(([id]) => mayNameModel(allowed_models, id, aliases.has(id)))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([id, owned_by]) => ({ id, object: 'model' as const, created: CREATED_S, owned_by }))
}
