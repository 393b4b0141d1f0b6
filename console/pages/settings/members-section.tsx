// Who belongs to the project, and who was asked to: invite, change a role, remove.
import { useMemo, useState } from 'react'
import { listMembers, type Member } from '../../api/settings-calls.ts'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { useResource } from '../../state/resource.ts'
import { useMay, useMe } from '../../state/session.tsx'
import { InviteDialog, RemoveDialog, RoleDialog } from './member-dialogs.tsx'

type Open = { kind: 'invite' } | { kind: 'role' | 'remove'; member: Member }

const POLL_MS = 30_000

export default function MembersSection() {
  const members = useResource<readonly Member[]>(listMembers, { poll_ms: POLL_MS })
  const [open, setOpen] = useState<Open>()
  const { person } = useMe()
  const may_manage = useMay('admin')
  const columns = useMemo(() => columnsFor(person.id, may_manage, setOpen), [person.id, may_manage])
  const dialog = { onClose: () => setOpen(undefined), onChanged: members.reload }
  return (
    <Card
      title="Members"
      actions={
        may_manage && (
          <Button look="primary" onClick={() => setOpen({ kind: 'invite' })}>
            Invite
          </Button>
        )
      }
    >
      <DataTable
        what="Members"
        resource={members}
        columns={columns}
        rowId={({ id }) => id}
        empty={<p>Nobody belongs to this project.</p>}
      />
      {open?.kind === 'invite' && <InviteDialog {...dialog} />}
      {open?.kind === 'role' && <RoleDialog {...dialog} member={open.member} />}
      {open?.kind === 'remove' && <RemoveDialog {...dialog} member={open.member} />}
    </Card>
  )
}

/** R74: addresses are for owners; to everybody else a member is an id. */
const nameOf = ({ id, email }: Member) => email ?? id

function columnsFor(me: string, may_manage: boolean, onOpen: (open: Open) => void): readonly Column<Member>[] {
  const deeds: Column<Member> = {
    id: 'deeds',
    header: 'Change',
    align: 'right',
    cell: (member) => (
      <span className="row deeds">
        <Button look="quiet" onClick={() => onOpen({ kind: 'role', member })}>
          Role<span className="visually-hidden"> of {member.email}</span>
        </Button>
        <Button look="quiet" onClick={() => onOpen({ kind: 'remove', member })}>
          {member.status === 'active' ? 'Remove' : 'Withdraw'}
          <span className="visually-hidden"> {member.email}</span>
        </Button>
      </span>
    ),
  }
  return [
    {
      id: 'email',
      header: may_manage ? 'E-mail address' : 'Member',
      sortBy: nameOf,
      cell: (member) => (
        <span className="row">
          {nameOf(member)}
          {member.id === me && <Badge>you</Badge>}
        </span>
      ),
    },
    { id: 'role', header: 'Role', sortBy: ({ role }) => role, cell: ({ role }) => role },
    {
      id: 'status',
      header: 'State',
      cell: ({ status }) => (
        <Badge tone={status === 'active' ? 'good' : 'warn'}>{status === 'active' ? 'member' : 'invited'}</Badge>
      ),
    },
    {
      id: 'since',
      header: 'Since',
      minor: true,
      sortBy: ({ created_at }) => created_at,
      cell: ({ created_at }) => <TimeAgo at={created_at} />,
    },
    ...(may_manage ? [deeds] : []),
  ]
}
