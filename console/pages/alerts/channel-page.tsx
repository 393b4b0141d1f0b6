// One channel: what can be done with it, and what was sent and what became of it.
import { useCallback, useState } from 'react'
import {
  type Channel,
  changeChannel,
  type Delivery,
  deliveriesOf,
  findChannel,
  redeliver,
  rotateSecret,
  testChannel,
} from '../../api/notification-calls.ts'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { LoadFailure } from '../../parts/load-failure.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { TimeUntil } from '../../parts/time-until.tsx'
import { useToast } from '../../parts/toasts.tsx'
import { navigate } from '../../state/navigation.tsx'
import { useResource } from '../../state/resource.ts'
import { useSubmission } from '../../state/submission.ts'
import { stateOf } from './alerts-page.tsx'
import { DeleteChannelDialog, EditChannelDialog, SecretDialog } from './channel-dialogs.tsx'
import { eventWords } from './channel-events.tsx'

const POLL_MS = 5_000
const UP = { to: '/alerts', label: 'Alerts' }

export default function ChannelPage({ id = '' }: { id?: string }) {
  const channel = useResource(
    useCallback((signal: AbortSignal) => findChannel(id, signal), [id]),
    { poll_ms: POLL_MS },
  )
  const deliveries = useResource(
    useCallback((signal: AbortSignal) => deliveriesOf(id, signal), [id]),
    { poll_ms: POLL_MS },
  )
  const reload = () => {
    channel.reload()
    deliveries.reload()
  }
  const known = channel.state.kind === 'ready' ? channel.state.value : undefined
  return (
    <>
      <PageHeader
        title={known?.name ?? 'Channel'}
        up={UP}
        lead={known && <Lead channel={known} />}
        actions={known && <Deeds channel={known} onDone={reload} />}
      />
      {channel.state.kind === 'failed' && (
        <LoadFailure what="The channel" error={channel.state.error} onRetry={channel.reload} />
      )}
      {channel.state.kind !== 'failed' && <Log resource={deliveries} onDone={reload} />}
    </>
  )
}

function Lead({ channel }: { channel: Channel }) {
  const { kind, target, events, failures, next_try_at } = channel
  const { tone, word } = stateOf(channel)
  return (
    <span className="row">
      <Badge tone={tone}>{word}</Badge>
      <span>
        {kind} to <code>{target}</code>: {eventWords(events)}
      </span>
      {failures > 0 && (
        <span className="muted">
          {failures === 1 ? 'the last attempt failed' : `the last ${failures} attempts failed`}
          {next_try_at && (
            <>
              , next one <TimeUntil at={next_try_at} />
            </>
          )}
        </span>
      )}
    </span>
  )
}

function Deeds({ channel, onDone }: { channel: Channel; onDone(): void }) {
  const { id, kind, status } = channel
  const [secret, setSecret] = useState<string>()
  const [open, setOpen] = useState<'edit' | 'delete'>()
  const onClose = () => setOpen(undefined)
  const say = useToast()
  const sending = useSubmission(async (deed: 'test' | 'pause' | 'resume' | 'rotate', idempotency_key) => {
    if (deed === 'test') {
      await testChannel(id)
      say('A test was sent. The log shows whether it arrived.')
    } else if (deed === 'rotate') setSecret((await rotateSecret(id, idempotency_key)).secret)
    else await changeChannel(id, { status: deed === 'pause' ? 'paused' : 'active' })
    onDone()
  })
  const is_active = status === 'active'
  return (
    <>
      <FormError error={sending.error} fields={[]} />
      {is_active && (
        <Button look="primary" busy={sending.busy} onClick={() => void sending.submit('test')}>
          Send test
        </Button>
      )}
      <Button onClick={() => void sending.submit(is_active ? 'pause' : 'resume')}>
        {is_active ? 'Pause' : 'Resume'}
      </Button>
      <Button onClick={() => setOpen('edit')}>Edit</Button>
      {kind === 'webhook' && <Button onClick={() => void sending.submit('rotate')}>Rotate secret</Button>}
      <Button look="danger" onClick={() => setOpen('delete')}>
        Delete
      </Button>
      {secret !== undefined && (
        <SecretDialog name={channel.name} secret={secret} onClose={() => setSecret(undefined)} />
      )}
      {open === 'edit' && <EditChannelDialog channel={channel} onClose={onClose} onChanged={onDone} />}
      {open === 'delete' && (
        <DeleteChannelDialog channel={channel} onClose={onClose} onChanged={() => navigate('/alerts')} />
      )}
    </>
  )
}

interface LogProps {
  resource: ReturnType<typeof useResource<readonly Delivery[]>>
  onDone(): void
}

function Log({ resource, onDone }: LogProps) {
  const say = useToast()
  const sending = useSubmission(async ({ channel_id, id, type }: Delivery) => {
    await redeliver(channel_id, id)
    say(`${type} is sent once more.`)
    onDone()
  })
  return (
    <Card title="Deliveries">
      <FormError error={sending.error} fields={[]} />
      <DataTable
        what="Deliveries"
        resource={resource}
        columns={columnsFor((one) => void sending.submit(one))}
        rowId={({ id }) => id}
        empty={<p>Nothing was sent yet. Send a test to see whether it arrives.</p>}
      />
    </Card>
  )
}

const TONES: Record<Delivery['status'], Tone> = { waiting: 'warn', delivered: 'good', failed: 'bad', dropped: 'bad' }

const columnsFor = (onAgain: (delivery: Delivery) => void): readonly Column<Delivery>[] => [
  {
    id: 'event',
    header: 'Event',
    cell: ({ type, subject }) => (
      <span className="two-lines">
        <span>{type}</span>
        <code className="muted">{subject}</code>
      </span>
    ),
  },
  { id: 'status', header: 'State', cell: ({ status }) => <Badge tone={TONES[status]}>{status}</Badge> },
  { id: 'attempts', header: 'Attempts', align: 'right', cell: ({ attempts }) => attempts },
  {
    id: 'answer',
    header: 'Answer',
    cell: ({ answer_status, error, answer }) => (
      <span title={answer ?? undefined}>{error ?? answer_status ?? <span className="muted">none yet</span>}</span>
    ),
  },
  { id: 'at', header: 'Happened', cell: ({ created_at }) => <TimeAgo at={created_at} /> },
  {
    id: 'deeds',
    header: 'Change',
    align: 'right',
    cell: (delivery) =>
      delivery.status !== 'waiting' && (
        <Button look="quiet" onClick={() => onAgain(delivery)}>
          Send again<span className="visually-hidden"> {delivery.type}</span>
        </Button>
      ),
  },
]
