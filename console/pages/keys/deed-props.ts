// What the dialog of a deed on a key is given.
import type { ApiKey } from '../../api/key-calls.ts'
import type { ShownKey } from './new-key-dialog.tsx'

export interface DeedProps {
  api_key: ApiKey
  /** How many keys end with this one. */
  live_children: number
  onClose(): void
  onChanged(): void
  onShown(shown: ShownKey): void
}
