// BYOK: keys of the project's own at providers. Their secrets are typed once and never shown.
import { useMemo, useState } from 'react'
import { type Credential, listCredentials, verifyCredential } from '../../api/settings-calls.ts'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { useToast } from '../../parts/toasts.tsx'
import { useResource } from '../../state/resource.ts'
import { useMay } from '../../state/session.tsx'
import { useSubmission } from '../../state/submission.ts'
import { EnterCredentialDialog, RevokeCredentialDialog } from './credential-dialogs.tsx'

const TONES: Record<Credential['status'], Tone> = { active: 'good', refused: 'bad', revoked: 'calm' }

export default function CredentialsSection() {
  const credentials = useResource<readonly Credential[]>(listCredentials)
  const [open, setOpen] = useState<Credential | 'new'>()
  const may_manage = useMay('admin')
  const say = useToast()
  const verifying = useSubmission(async ({ id, name }: Credential) => {
    const { status } = await verifyCredential(id)
    say(status === 'active' ? `The provider accepts ${name}.` : `The provider refuses ${name}.`)
    credentials.reload()
  })
  const { submit } = verifying
  // biome-ignore lint/correctness/useExhaustiveDependencies: submit is made anew with each drawing, and does the same
  const columns = useMemo(() => columnsFor(may_manage, (one) => void submit(one), setOpen), [may_manage])
  const dialog = { onClose: () => setOpen(undefined), onChanged: credentials.reload }
  return (
    <Card
      title="Provider credentials"
      actions={
        may_manage && (
          <Button look="primary" onClick={() => setOpen('new')}>
            Enter credential
          </Button>
        )
      }
    >
      <p className="muted">
        With a credential of your own, requests go to that provider on your account; here they cost the fee only.
      </p>
      <FormError error={verifying.error} fields={[]} />
      <DataTable
        what="Provider credentials"
        resource={credentials}
        columns={columns}
        rowId={({ id }) => id}
        empty={<p>None yet. Requests run with the providers that this gateway is set up with.</p>}
      />
      {open === 'new' && <EnterCredentialDialog {...dialog} />}
      {open && open !== 'new' && <RevokeCredentialDialog {...dialog} credential={open} />}
    </Card>
  )
}

type Act = (credential: Credential) => void

function columnsFor(may_manage: boolean, onVerify: Act, onRevoke: Act): readonly Column<Credential>[] {
  const deeds: Column<Credential> = {
    id: 'deeds',
    header: 'Change',
    align: 'right',
    cell: (credential) =>
      credential.status !== 'revoked' && (
        <span className="row deeds">
          <Button look="quiet" onClick={() => onVerify(credential)}>
            Verify<span className="visually-hidden"> {credential.name}</span>
          </Button>
          <Button look="quiet" onClick={() => onRevoke(credential)}>
            Revoke<span className="visually-hidden"> {credential.name}</span>
          </Button>
        </span>
      ),
  }
  return [
    {
      id: 'name',
      header: 'Name',
      sortBy: ({ name }) => name.toLowerCase(),
      cell: ({ name, masked }) => (
        <span className="two-lines">
          <span>{name}</span>
          <code className="muted">{masked}</code>
        </span>
      ),
    },
    {
      id: 'provider',
      header: 'Provider',
      sortBy: ({ provider }) => provider,
      cell: ({ provider, base_url }) => (
        <span className="two-lines">
          <span>{provider}</span>
          {base_url && <code className="muted">{base_url}</code>}
        </span>
      ),
    },
    { id: 'status', header: 'State', cell: ({ status }) => <Badge tone={TONES[status]}>{status}</Badge> },
    {
      id: 'verified',
      header: 'Verified',
      cell: ({ verified_at }) => <TimeAgo at={verified_at} />,
    },
    { id: 'created', header: 'Entered', minor: true, cell: ({ created_at }) => <TimeAgo at={created_at} /> },
    ...(may_manage ? [deeds] : []),
  ]
}
