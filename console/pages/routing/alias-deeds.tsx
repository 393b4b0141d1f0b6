// §9.4: pointing an alias at another release, and deleting one. Both say what moves before anything does.
import {
  type Alias,
  type AliasRelease,
  activateRelease,
  type Destinations,
  deleteAlias,
} from '../../api/routing-calls.ts'
import { Button } from '../../parts/button.tsx'
import { ConfirmDialog, Dialog } from '../../parts/dialog.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { wholePercent } from '../../parts/measures.ts'
import { useToast } from '../../parts/toasts.tsx'
import { useSubmission } from '../../state/submission.ts'
import { movesBetween, placeKind, placeName } from './target-shares.ts'

interface ActivateDialogProps {
  release: AliasRelease
  /** The one that requests go to now. */
  current: AliasRelease
  /** It was active before this one. */
  returns: boolean
  destinations: Destinations | undefined
  onClose(): void
  onActivated(alias: Alias): void
}

export function ActivateDialog(props: ActivateDialogProps) {
  const { release, current, returns, destinations, onClose, onActivated } = props
  const say = useToast()
  const sending = useSubmission(async (id: string, key) => {
    onActivated(await activateRelease(id, key))
    say(`${release.alias_name} goes to release ${release.version} now.`)
    onClose()
  })
  return (
    <Dialog
      title={returns ? `Return to release ${release.version}` : `Activate release ${release.version}`}
      onClose={onClose}
    >
      <div className="stack">
        <p>
          From the next request on, <strong>{release.alias_name}</strong> goes to{' '}
          <strong>release {release.version}</strong> instead of release {current.version}, for every key of this
          project. What is under way finishes where it is.
        </p>
        <Moves before={current} after={release} destinations={destinations} />
        <FormError error={sending.error} fields={[]} />
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" busy={sending.busy} onClick={() => void sending.submit(release.id)}>
            {returns ? `Return to release ${release.version}` : `Activate release ${release.version}`}
          </Button>
        </div>
      </div>
    </Dialog>
  )
}

interface MovesProps {
  before: AliasRelease
  after: AliasRelease
  destinations: Destinations | undefined
}

const Moves = ({ before, after, destinations }: MovesProps) => (
  <table className="table table-dense">
    <caption className="visually-hidden">What moves</caption>
    <thead>
      <tr>
        <th scope="col">Requests at</th>
        <th scope="col" data-align="right">
          now
        </th>
        <th scope="col" data-align="right">
          then
        </th>
      </tr>
    </thead>
    <tbody>
      {movesBetween(before.targets, after.targets).map((move) => (
        <tr key={JSON.stringify(move.target)} data-moves={move.before !== move.after || undefined}>
          <th scope="row">
            {placeName(move.target, destinations)} <span className="muted">{placeKind(move.target)}</span>{' '}
            <code>{move.target.model}</code>
          </th>
          <td data-align="right">{wholePercent(move.before)}</td>
          <td data-align="right">
            <strong>{wholePercent(move.after)}</strong>
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)

interface DeleteDialogProps {
  alias: Alias
  onClose(): void
  onGone(): void
}

export function DeleteAliasDialog({ alias, onClose, onGone }: DeleteDialogProps) {
  const say = useToast()
  const sending = useSubmission(async (name: string) => {
    await deleteAlias(name)
    say(`${alias.name} is deleted.`)
    onGone()
  })
  return (
    <ConfirmDialog
      title={`Delete ${alias.name}?`}
      action="Delete alias"
      typed={alias.name}
      busy={sending.busy}
      error={sending.error}
      onConfirm={() => void sending.submit(alias.name)}
      onClose={onClose}
    >
      <p>
        From the next request on, <strong>{alias.name}</strong> means nothing in this project: who asks for it is
        refused with 404, unless a model has the same name. Its releases can still be read by their ids.
      </p>
    </ConfirmDialog>
  )
}
