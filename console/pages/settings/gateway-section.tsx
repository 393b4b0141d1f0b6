// How the gateway is set up, as far as its users may know: limits in force, providers and prices, fees, retention.

import { type GatewayView, theGateway } from '../../api/generation-calls.ts'
import { count, money } from '../../parts/amounts.ts'
import { Badge } from '../../parts/badge.tsx'
import { Card, Stat, Stats } from '../../parts/card.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { duration } from '../../parts/figures.ts'
import { LoadFailure } from '../../parts/load-failure.tsx'
import { useResource } from '../../state/resource.ts'

export default function GatewaySection() {
  const { state, reload } = useResource(theGateway)
  if (state.kind === 'failed') return <LoadFailure what="The gateway" error={state.error} onRetry={reload} />
  if (state.kind === 'loading') return <div className="skeleton skeleton-chart" />
  return (
    <>
      <LimitsCard limits={state.value.limits} />
      <SetUp gateway={state.value} />
      {state.value.providers.map((provider) => (
        <ProviderCard key={provider.id} provider={provider} />
      ))}
    </>
  )
}

const LAYERS = {
  edge: 'From one address',
  key: 'With one key',
  project: 'In the project',
} as const

const LIMIT_WORDS: Record<string, string> = {
  auth_per_minute: 'Sign-in requests a minute',
  inference_per_minute: 'Generations a minute',
  read_per_minute: 'Other requests a minute',
  requests_per_minute: 'Requests a minute',
  tokens_per_minute: 'Tokens a minute',
  concurrent_streams: 'Streams at once',
  admin_per_minute: 'Bulk jobs a minute',
}

const LimitsCard = ({ limits }: { limits: GatewayView['limits'] }) => (
  <Card title="Limits in force">
    <p className="muted">A request passes all three layers. A key may have limits of its own, on its page.</p>
    {(['edge', 'key', 'project'] as const).map((layer) => (
      <div key={layer} className="layer">
        <h3 className="row">
          {LAYERS[layer]}
          {limits.shadow.includes(layer) && <Badge tone="warn">counts only</Badge>}
        </h3>
        <Stats>
          {Object.entries(limits[layer]).map(([name, limit]) => (
            <Stat key={name} label={LIMIT_WORDS[name] ?? name}>
              {count(limit)}
            </Stat>
          ))}
        </Stats>
      </div>
    ))}
    {limits.models.length > 0 && (
      <div className="layer">
        <h3>Of single models</h3>
        <DataTable
          what="Rates of models"
          resource={{ state: { kind: 'ready', value: limits.models }, reload: () => {} }}
          columns={RATE_COLUMNS}
          rowId={({ model, of }) => `${of} ${model}`}
          empty={null}
        />
      </div>
    )}
  </Card>
)

const WHOSE = { key: 'each key', project: 'each project' } as const

const RATE_COLUMNS: readonly Column<GatewayView['limits']['models'][number]>[] = [
  { id: 'model', header: 'Model', cell: ({ model }) => <code>{model}</code> },
  { id: 'of', header: 'Counted for', cell: ({ of }) => WHOSE[of] },
  {
    id: 'requests',
    header: 'Requests a minute',
    align: 'right',
    cell: ({ requests_per_minute: most }) => (most === undefined ? 'any' : count(most)),
  },
  {
    id: 'tokens',
    header: 'Tokens a minute',
    align: 'right',
    cell: ({ tokens_per_minute: most }) => (most === undefined ? 'any' : count(most)),
  },
]

const SetUp = ({ gateway }: { gateway: GatewayView }) => (
  <Card title="Gateway">
    {gateway.execution_mode === 'placeholder' && (
      <p className="notice">
        No provider is configured. A placeholder answers every request, free of charge; a credential of your own, or a
        cluster, changes that for this project.
      </p>
    )}
    <Stats>
      <Stat label="Version">{gateway.version}</Stat>
      <Stat label="Store">{gateway.store === 'sqlite' ? 'SQLite' : 'PostgreSQL'}</Stat>
      <Stat label="Sign-up">{gateway.sign_up === 'open' ? 'open to everybody' : 'by invitation'}</Stat>
      <Stat label="Prices as of">{gateway.prices_as_of}</Stat>
      <Stat label="Fee with your own credential">{money(gateway.fees.byok_micros)}</Stat>
      <Stat label="Fee on your own cluster">{money(gateway.fees.byoc_micros)}</Stat>
      <Stat label="Contents kept">{gateway.retention.full_fidelity ? 'yes, sealed' : 'no'}</Stat>
      <Stat label="Recordings kept">
        {gateway.retention.full_fidelity
          ? `${gateway.retention.recordings_days} days, where a project records`
          : 'none'}
      </Stat>
      <Stat label="Idempotent answers kept">{gateway.retention.kept_answers_hours} hours</Stat>
      <Stat label="Refusals kept">{gateway.retention.refusals_days} days</Stat>
      <Stat label="Cluster history kept">{gateway.retention.cluster_transitions_days} days</Stat>
    </Stats>
  </Card>
)

type Provider = GatewayView['providers'][number]

const ProviderCard = ({ provider }: { provider: Provider }) => (
  <Card title={provider.id}>
    <Stats>
      <Stat label="Protocol">{provider.protocol}</Stat>
      <Stat label="Region">{provider.region}</Stat>
      <Stat label="Calls at once">{count(provider.max_concurrency)}</Stat>
      <Stat label="First byte within">{duration(provider.timeouts.first_byte_ms)}</Stat>
      <Stat label="Whole answer within">{duration(provider.timeouts.total_ms)}</Stat>
      <Stat label="Other models">{provider.unlisted_models ? 'asked for too' : 'not asked for'}</Stat>
    </Stats>
    <details className="more">
      <summary>{provider.models_total === 1 ? '1 model' : `${count(provider.models_total)} models`}</summary>
      <DataTable
        what={`Models of ${provider.id}`}
        resource={{ state: { kind: 'ready', value: provider.models }, reload: () => {} }}
        columns={MODEL_COLUMNS}
        rowId={({ id }) => id}
        empty={<p>None are listed.</p>}
      />
    </details>
  </Card>
)

type Model = Provider['models'][number]

const perMillion = (micros: number | undefined) => (micros === undefined ? 'no price' : money(micros))

const MODEL_COLUMNS: readonly Column<Model>[] = [
  { id: 'id', header: 'Model', sortBy: ({ id }) => id, cell: ({ id }) => <code>{id}</code> },
  { id: 'in', header: 'Input, a million', align: 'right', cell: ({ price }) => perMillion(price?.input) },
  {
    id: 'cached',
    header: 'Cached input',
    align: 'right',
    minor: true,
    cell: ({ price }) => perMillion(price?.cached_input),
  },
  { id: 'out', header: 'Output, a million', align: 'right', cell: ({ price }) => perMillion(price?.output) },
  {
    id: 'most',
    header: 'Output tokens',
    align: 'right',
    minor: true,
    cell: ({ max_output_tokens }) => count(max_output_tokens),
  },
]
