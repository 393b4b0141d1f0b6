// GET /v1/models (§8.2, R53): what a request of this project may name. Sorted by code point. /v2/models is the same
// list for the native surface, where browsers with a session may ask too.
import { type Static, Type } from 'typebox'
import type { Caller } from '../core/caller.ts'
import { listOf } from '../core/shapes.ts'
import { sortedInSteps } from '../core/sorted-in-steps.ts'
import { inTurns } from '../core/turns.ts'
import type { Routes } from '../http/routes.ts'
import { sendList, slicesOf } from '../http/whole-list.ts'
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
export type Model = Static<typeof Model>

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
    return inTurns(modelsOf(snapshot, new Map(providers.map(({ id }, at) => [id, listed[at] ?? []])), caller))
  }

export const modelRoutes: Routes<{ modelsFor: ModelsFor }> = async (app, { modelsFor }) => {
  for (const [url, tag] of [
    ['/v1/models', tags[0]],
    ['/v2/models', 'Routing'],
  ] as const)
    app.get(
      url,
      { config, schema: { tags: [tag], summary: 'List models', response: { 200: listOf(Model) } } },
      async ({ caller }, reply) => sendList(reply, slicesOf(await modelsFor(caller)), Model),
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

const STEP_IDS = 2_000

/**
 * The first to claim a name is its owner, in the order of R40. Only what the key may name is listed (R62). R77: a
 * thousand clusters may have a thousand models each, so it is done in steps.
 */
function* modelsOf(
  { aliases, clusters, credentials, gateway }: Snapshot,
  listed: Listed,
  { allowed_models }: Caller,
): Generator<void, Model[]> {
  const owners = new Map<string, string>()
  let claims = 0
  function* claim(ids: Iterable<string>, owner: string) {
    for (const id of ids) {
      if (!owners.has(id)) owners.set(id, owner)
      if (++claims % STEP_IDS === 0) yield
    }
  }
  yield* claim(aliases.keys(), 'alias')
  for (const { models, name } of clusters) yield* claim(models, name)
  for (const { settings, provider } of credentials) yield* claim(Object.keys(settings?.models ?? {}), provider)
  for (const { models, id } of gateway.providers)
    yield* claim(
      models.map((model) => model.id),
      id,
    )
  for (const [provider, models] of listed) yield* claim(models, provider)
  if (!isConfigured(gateway)) for (const { id, provider } of gateway.prices.values()) yield* claim([id], provider)
  return yield* toldInOrder(owners, (id) => mayNameModel(allowed_models, id, aliases.has(id)))
}

function* toldInOrder(owners: ReadonlyMap<string, string>, mayName: (id: string) => boolean): Generator<void, Model[]> {
  const named: string[] = []
  let looked_at = 0
  for (const id of owners.keys()) {
    if (mayName(id)) named.push(id)
    if (++looked_at % STEP_IDS === 0) yield
  }
  const told: Model[] = []
  for (const id of yield* sortedInSteps(named))
    if (told.push({ id, object: 'model', created: CREATED_S, owned_by: owners.get(id) ?? '' }) % STEP_IDS === 0) yield
  return told
}
