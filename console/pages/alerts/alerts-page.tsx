// What needs attention now, and who is told of what happens to the project: webhooks, Slack, mail.
import { useState } from 'react'
import { type Channel, listChannels } from '../../api/notification-calls.ts'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { Link } from '../../state/navigation.tsx'
import { useResource } from '../../state/resource.ts'
import { useMay } from '../../state/session.tsx'
import { AttentionList } from '../overview/attention-list.tsx'
import { MakeChannelDialog } from './channel-dialogs.tsx'
import { eventWords } from './channel-events.tsx'

const POLL_MS = 15_000

export default function AlertsPage() {
  const may_manage = useMay('admin')
  return may_manage ? (
    <Channels />
  ) : (
    <>
      <PageHeader title="Alerts" lead={LEAD} />
      <AttentionList />
      <p className="empty">Only owners of the project see its channels.</p>
    </>
  )
}

const LEAD =
  'What needs attention now, and where alerts go when a budget runs out, a key expires or a cluster goes down.'

function Channels() {
  const channels = useResource(listChannels, { poll_ms: POLL_MS })
  const [making, setMaking] = useState(false)
  const make = (
    <Button look="primary" onClick={() => setMaking(true)}>
      Add channel
    </Button>
  )
  return (
    <>
      <PageHeader title="Alerts" lead={LEAD} actions={make} />
      <AttentionList />
      <Card title="Channels">
        <DataTable
          what="Channels"
          resource={channels}
          columns={COLUMNS}
          rowId={({ id }) => id}
          empty={
            <>
              <p>No channels yet: alerts go nowhere. Add a webhook, a Slack channel or your own mailbox.</p>
              <p className="muted">Events are retried for a day, and arrive in order.</p>
            </>
          }
        />
      </Card>
      {making && <MakeChannelDialog onClose={() => setMaking(false)} onChanged={channels.reload} />}
    </>
  )
}

/** What is the matter with a channel, in a word. */
export function stateOf({ status, failures }: Channel): { tone: Tone; word: string } {
  if (status === 'disabled') return { tone: 'bad', word: 'disabled' }
  if (status === 'paused') return { tone: 'calm', word: 'paused' }
  return failures > 0 ? { tone: 'warn', word: 'failing' } : { tone: 'good', word: 'active' }
}

const COLUMNS: readonly Column<Channel>[] = [
  {
    id: 'name',
    header: 'Name',
    sortBy: ({ name }) => name.toLowerCase(),
    cell: ({ id, name, target }) => (
      <span className="two-lines">
        <Link to={`/alerts/${id}`}>{name}</Link>
        <code className="muted">{target}</code>
      </span>
    ),
  },
  { id: 'kind', header: 'Kind', sortBy: ({ kind }) => kind, cell: ({ kind }) => kind },
  {
    id: 'state',
    header: 'State',
    cell: (channel) => {
      const { tone, word } = stateOf(channel)
      return <Badge tone={tone}>{word}</Badge>
    },
  },
  { id: 'events', header: 'Events', minor: true, cell: ({ events }) => eventWords(events) },
  { id: 'created', header: 'Added', minor: true, cell: ({ created_at }) => <TimeAgo at={created_at} /> },
]
