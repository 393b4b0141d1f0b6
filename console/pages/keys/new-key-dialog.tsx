// The one time that a raw key is seen (§2.1). It is forgotten as the dialog closes.
import { ShownOnce } from '../../parts/shown-once.tsx'
import type { Secret } from '../../state/secret.ts'

export interface ShownKey {
  id: string
  name: string
  secret: Secret
  /** What was to be set along with it, and was not. */
  problems: readonly string[]
  /** What else to know of it. */
  note?: string
}

export function NewKeyDialog({ shown, onClose }: { shown: ShownKey; onClose(): void }) {
  function close() {
    shown.secret.forget()
    onClose()
  }
  return (
    <ShownOnce
      title={`Key for ${shown.name}`}
      lead="Store it now, in a secret manager. It is shown only now; the server keeps its hash alone."
      secret={shown.secret.read() ?? ''}
      what="key"
      onClose={close}
    >
      {shown.note && <p>{shown.note}</p>}
      {shown.problems.map((problem) => (
        <p key={problem} role="alert" className="notice notice-warn">
          {problem} Set it on the key’s page before you use the key.
        </p>
      ))}
    </ShownOnce>
  )
}
