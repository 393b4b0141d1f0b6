// One provider: what holds of it, what its models cost, who changed it and when; and what can be done to it.
import { type ComponentType, useCallback, useMemo, useState } from 'react'
import {
  findProvider,
  listVersions,
  type OperatorProvider,
  type ProviderVersion,
  testProvider,
} from '../../api/provider-calls.ts'
import { count, money } from '../../parts/amounts.ts'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Stat, Stats } from '../../parts/card.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { LoadFailure, StaleNotice } from '../../parts/load-failure.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { useToast } from '../../parts/toasts.tsx'
import { useNamesOf } from '../../state/names-of-things.ts'
import { type Resource, seenAs, useResource } from '../../state/resource.ts'
import { useSubmission } from '../../state/submission.ts'
import {
  DrainDialog,
  type ProviderDeedProps,
  RemoveProviderDialog,
  RestoreDialog,
  ResumeProviderDialog,
} from './provider-dialogs.tsx'
import { ChangeProviderDialog } from './provider-form.tsx'
import { PROVIDER_TONES, SOURCES } from './providers-page.tsx'

const POLL_MS = 5_000
const UP = { to: '/providers', label: 'Providers' }

export default function ProviderPage({ id = '' }: { id?: string }) {
  const provider = useResource(
    useCallback((signal) => findProvider(id, signal), [id]),
    { poll_ms: POLL_MS },
  )
  const { state } = provider
  if (state.kind !== 'ready')
    return (
      <>
        <PageHeader title="Provider" up={UP} />
        {state.kind === 'failed' ? (
          <LoadFailure what="The provider" error={state.error} onRetry={provider.reload} />
        ) : (
          <p className="waiting" role="status">
            Loading …
          </p>
        )}
      </>
    )
  return (
    <>
      <PageHeader
        title={state.value.id}
        up={UP}
        lead={<Identity provider={state.value} />}
        actions={<ProviderActions provider={state.value} onChanged={provider.put} />}
      />
      <StaleNotice error={state.stale} onRetry={provider.reload} />
      <Facts provider={state.value} />
      <Models provider={provider} />
      {state.value.source === 'api' && <Versions provider={state.value} onChanged={provider.put} />}
    </>
  )
}

const Identity = ({ provider: { status, source, problem, version } }: { provider: OperatorProvider }) => (
  <span className="row">
    <Badge tone={PROVIDER_TONES[status]}>{status}</Badge>
    <span className="muted">{SOURCES[source]}</span>
    {version !== undefined && <span className="muted">version {version}</span>}
    {problem !== undefined && <span>{problem}</span>}
  </span>
)

interface Deed {
  label: string
  look: 'plain' | 'danger'
  Deed: ComponentType<ProviderDeedProps>
  fits?(provider: OperatorProvider): boolean
}

const DEEDS: readonly Deed[] = [
  { label: 'Change', look: 'plain', Deed: ChangeProviderDialog },
  { label: 'Drain', look: 'plain', Deed: DrainDialog, fits: ({ status }) => status === 'active' },
  { label: 'Resume', look: 'plain', Deed: ResumeProviderDialog, fits: ({ status }) => status === 'draining' },
  { label: 'Remove', look: 'danger', Deed: RemoveProviderDialog },
]

function ProviderActions({ provider, onChanged }: Pick<ProviderDeedProps, 'provider' | 'onChanged'>) {
  const [open, setOpen] = useState<string>()
  const say = useToast()
  const testing = useSubmission(async (id: string) => say((await testProvider(id)).message))
  const deeds = provider.source === 'api' ? DEEDS.filter(({ fits }) => fits?.(provider) ?? true) : []
  return (
    <>
      <Button busy={testing.busy} onClick={() => void testing.submit(provider.id)}>
        Test
      </Button>
      {deeds.map(({ label, look, Deed }) => (
        <span key={label}>
          <Button look={look} onClick={() => setOpen(label)}>
            {label}
          </Button>
          {open === label && <Deed provider={provider} onChanged={onChanged} onClose={() => setOpen(undefined)} />}
        </span>
      ))}
      <FormError error={testing.error} fields={[]} />
    </>
  )
}

function Facts({
  provider: { settings, secrets, running, source, updated_at, updated_by },
}: {
  provider: OperatorProvider
}) {
  const hints = Object.entries(secrets).map(([name, hint]) => `${name} ${hint}`)
  const names = useNamesOf([updated_by])
  return (
    <Card title="Settings">
      {source !== 'api' && <p className="muted">It stands in {SOURCES[source]}, and is changed there.</p>}
      <Stats>
        {settings && (
          <>
            <Stat label="Address" wide>
              <code>{settings.base_url}</code>
            </Stat>
            <Stat label="Protocol">{settings.protocol}</Stat>
            <Stat label="Region">{settings.region}</Stat>
            <Stat label="Calls at once">{count(settings.max_concurrency)}</Stat>
          </>
        )}
        <Stat label="Running here">{count(running)}</Stat>
        <Stat label="Secret">{hints.length > 0 ? <code>{hints.join(', ')}</code> : 'none'}</Stat>
        {updated_at !== undefined && (
          <Stat label="Changed" wide>
            <span className="two-lines">
              <TimeAgo at={updated_at} />
              <span className="muted">by {names.get(updated_by ?? '') ?? updated_by}</span>
            </span>
          </Stat>
        )}
      </Stats>
    </Card>
  )
}

type Model = NonNullable<OperatorProvider['settings']>['models'][number]

function Models({ provider }: { provider: Resource<OperatorProvider> }) {
  const models = useMemo(() => seenAs(provider, ({ settings }): readonly Model[] => settings?.models ?? []), [provider])
  return (
    <Card title="Models and prices">
      <DataTable
        what="Models"
        resource={models}
        columns={MODEL_COLUMNS}
        rowId={({ id }) => id}
        empty={<p>None are listed for it.</p>}
      />
    </Card>
  )
}

const price = (micros: number | undefined) => (micros === undefined ? 'none' : money(micros))

const MODEL_COLUMNS: readonly Column<Model>[] = [
  { id: 'id', header: 'Model', sortBy: ({ id }) => id, cell: ({ id }) => <code>{id}</code> },
  {
    id: 'input',
    header: 'In, per million',
    align: 'right',
    sortBy: ({ price: cost }) => cost?.input ?? 0,
    cell: ({ price: cost }) => price(cost?.input),
  },
  {
    id: 'output',
    header: 'Out, per million',
    align: 'right',
    sortBy: ({ price: cost }) => cost?.output ?? 0,
    cell: ({ price: cost }) => price(cost?.output),
  },
  {
    id: 'most',
    header: 'Tokens out',
    align: 'right',
    minor: true,
    cell: ({ max_output_tokens }) => count(max_output_tokens),
  },
]

function Versions({ provider, onChanged }: Pick<ProviderDeedProps, 'provider' | 'onChanged'>) {
  const { id, version } = provider
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new version is a new entry of the list
  const load = useCallback((signal: AbortSignal) => listVersions(id, signal), [id, version])
  const versions = useResource<readonly ProviderVersion[]>(load, { keep: true })
  const [to, setTo] = useState<ProviderVersion>()
  const names = useNamesOf(versions.state.kind === 'ready' ? versions.state.value.map(({ actor }) => actor) : [])
  const columns = useMemo(() => versionColumns(version, names, setTo), [version, names])
  return (
    <Card title="Versions">
      <DataTable
        what="Versions"
        resource={versions}
        columns={columns}
        rowId={(one) => String(one.version)}
        empty={<p>None.</p>}
      />
      {to && <RestoreDialog provider={provider} to={to} onChanged={onChanged} onClose={() => setTo(undefined)} />}
    </Card>
  )
}

const versionColumns = (
  present: number | undefined,
  names: ReadonlyMap<string, string>,
  onRestore: (version: ProviderVersion) => void,
): readonly Column<ProviderVersion>[] => [
  { id: 'version', header: 'Version', align: 'right', cell: ({ version }) => count(version) },
  { id: 'change', header: 'What', cell: ({ change }) => change },
  {
    id: 'fields',
    header: 'Fields',
    minor: true,
    cell: ({ fields }) => <span className="muted">{fields.join(', ')}</span>,
  },
  {
    id: 'actor',
    header: 'By',
    minor: true,
    cell: ({ actor }) => names.get(actor ?? '') ?? <code className="muted">{actor}</code>,
  },
  { id: 'at', header: 'When', cell: ({ created_at }) => <TimeAgo at={created_at} /> },
  {
    id: 'deeds',
    header: 'Return',
    align: 'right',
    cell: (one) =>
      one.version === present ? (
        <span className="muted">in force</span>
      ) : (
        <Button look="quiet" onClick={() => onRestore(one)}>
          Return<span className="visually-hidden"> to version {one.version}</span>
        </Button>
      ),
  },
]
