// What an owner can do with a key. Each deed is a button here and a dialog of its own; a secret that one of them made
// is shown once, after it.
import { type ComponentType, useState } from 'react'
import { Button } from '../../parts/button.tsx'
import { useAddressQuery } from '../../state/address-query.ts'
import { BudgetDialog } from './budget-dialog.tsx'
import { ChildDialog } from './child-dialog.tsx'
import type { DeedProps } from './deed-props.ts'
import { EditDialog } from './edit-dialog.tsx'
import type { KeyState } from './key-family.ts'
import { LimitsDialog } from './limits-dialog.tsx'
import { NewKeyDialog, type ShownKey } from './new-key-dialog.tsx'
import { RevokeDialog } from './revoke-dialog.tsx'
import { RotateDialog } from './rotate-dialog.tsx'

interface Deed {
  label: string
  look: 'plain' | 'danger'
  Deed: ComponentType<DeedProps>
  /** Left out where the service would refuse it. */
  fits?(is: { child: boolean; state: KeyState }): boolean
}

const DEEDS: readonly Deed[] = [
  { label: 'Edit', look: 'plain', Deed: EditDialog },
  { label: 'Spending limit', look: 'plain', Deed: BudgetDialog, fits: ({ child }) => !child },
  { label: 'Rate limits', look: 'plain', Deed: LimitsDialog, fits: ({ child }) => !child },
  { label: 'Rotate', look: 'plain', Deed: RotateDialog, fits: ({ state }) => state === 'active' },
  { label: 'Child key', look: 'plain', Deed: ChildDialog, fits: ({ child, state }) => !child && state === 'active' },
  { label: 'Revoke', look: 'danger', Deed: RevokeDialog },
]

interface KeyActionsProps extends Pick<DeedProps, 'api_key' | 'live_children' | 'onChanged'> {
  state: KeyState
}

export function KeyActions({ api_key, live_children, state, onChanged }: KeyActionsProps) {
  // An address may name the deed: what refused a request, or somebody who searched, leads here.
  const { params, change } = useAddressQuery()
  const open = params.get('do')
  const setOpen = (label: string | undefined) => change({ do: label }, { replace: true })
  const [shown, setShown] = useState<ShownKey>()
  const is = { child: api_key.parent_id !== undefined, state }
  const deed = {
    api_key,
    live_children,
    onChanged,
    onShown: setShown,
    onClose: () => setOpen(undefined),
  }
  return (
    <>
      {DEEDS.filter(({ fits }) => fits?.(is) ?? true).map(({ label, look, Deed }) => (
        <span key={label}>
          <Button look={look} onClick={() => setOpen(label)}>
            {label}
          </Button>
          {open === label && <Deed {...deed} />}
        </span>
      ))}
      {shown && <NewKeyDialog shown={shown} onClose={() => setShown(undefined)} />}
    </>
  )
}
