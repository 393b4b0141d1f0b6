// §4.8: deregister a cluster: what that does here, and what it leaves alone there.
import { type Cluster, type ClusterTelemetry, deregisterCluster } from '../../api/cluster-calls.ts'
import { count } from '../../parts/amounts.ts'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { useToast } from '../../parts/toasts.tsx'
import { useSubmission } from '../../state/submission.ts'

interface DeregisterDialogProps {
  cluster: Cluster
  telemetry: ClusterTelemetry | undefined
  onClose(): void
  onGone(): void
}

export function DeregisterDialog({ cluster, telemetry, onClose, onGone }: DeregisterDialogProps) {
  const say = useToast()
  const sending = useSubmission(async (id: string) => {
    await deregisterCluster(id)
    say(`${cluster.name} is deregistered.`)
    onGone()
  })
  const models = telemetry?.models?.length
  const running = telemetry?.load?.running
  return (
    <ConfirmDialog
      title={`Deregister ${cluster.name}?`}
      action="Deregister cluster"
      typed={cluster.name}
      busy={sending.busy}
      error={sending.error}
      onConfirm={() => void sending.submit(cluster.id)}
      onClose={onClose}
    >
      <p>
        From the next request on, nothing goes to <strong>{cluster.name}</strong> any more
        {models !== undefined && models > 0 && `, for none of its ${count(models)} models`}. Alias releases that name it
        lose that target, and its heartbeats are refused. Its id cannot be restored.
      </p>
      <p>
        {running !== undefined && running > 0
          ? `It last reported ${count(running)} requests running: they finish.`
          : 'What is under way finishes.'}{' '}
        The cluster itself is not stopped. To let it empty first, have it report <code>draining</code>.
      </p>
    </ConfirmDialog>
  )
}
