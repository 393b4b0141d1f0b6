// The providers of the gateway, for whoever runs the service: the file's to be read, those added here to be changed.
import { useState } from 'react'
import { listProviders, type OperatorProvider } from '../../api/provider-calls.ts'
import { count } from '../../parts/amounts.ts'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { Link, navigate } from '../../state/navigation.tsx'
import { useResource } from '../../state/resource.ts'
import { AddProviderDialog } from './provider-form.tsx'

const POLL_MS = 10_000

export const PROVIDER_TONES: Record<OperatorProvider['status'], Tone> = {
  active: 'good',
  draining: 'warn',
  invalid: 'bad',
}
export const SOURCES: Record<OperatorProvider['source'], string> = {
  file: 'switchyard.yaml',
  environment: 'the environment',
  api: 'added here',
}

export default function ProvidersPage() {
  const providers = useResource<readonly OperatorProvider[]>(listProviders, { poll_ms: POLL_MS })
  const [adding, setAdding] = useState(false)
  return (
    <>
      <PageHeader
        title="Providers"
        lead="Where requests go, in the order of preference. Changes reach every server within a second."
        actions={
          <Button look="primary" onClick={() => setAdding(true)}>
            Add provider
          </Button>
        }
      />
      <Card title="All providers">
        <DataTable
          what="Providers"
          resource={providers}
          columns={COLUMNS}
          rowId={({ id }) => id}
          empty={<p>None yet: the placeholder answers. Add one to serve real models.</p>}
        />
      </Card>
      {adding && (
        <AddProviderDialog onClose={() => setAdding(false)} onAdded={({ id }) => navigate(`/providers/${id}`)} />
      )}
    </>
  )
}

const COLUMNS: readonly Column<OperatorProvider>[] = [
  {
    id: 'id',
    header: 'Provider',
    sortBy: ({ id }) => id,
    cell: ({ id, settings }) => (
      <span className="two-lines">
        <Link to={`/providers/${id}`}>{id}</Link>
        {settings && <code className="muted">{settings.base_url}</code>}
      </span>
    ),
  },
  {
    id: 'status',
    header: 'State',
    sortBy: ({ status }) => status,
    cell: ({ status }) => <Badge tone={PROVIDER_TONES[status]}>{status}</Badge>,
  },
  { id: 'source', header: 'Source', sortBy: ({ source }) => source, cell: ({ source }) => SOURCES[source] },
  {
    id: 'models',
    header: 'Models',
    align: 'right',
    sortBy: ({ settings }) => settings?.models_total ?? 0,
    cell: ({ settings }) => count(settings?.models_total ?? 0),
  },
  {
    id: 'running',
    header: 'Running',
    align: 'right',
    sortBy: ({ running }) => running,
    cell: ({ running }) => count(running),
  },
  { id: 'updated', header: 'Changed', minor: true, cell: ({ updated_at }) => <TimeAgo at={updated_at} /> },
]
