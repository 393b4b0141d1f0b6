// What an owner can do with a key. Each deed is a button here and a dialog of its own.
import { useState } from 'react'
import type { ApiKey } from '../../api/key-calls.ts'
import { Button } from '../../parts/button.tsx'
import { BudgetDialog } from './budget-dialog.tsx'
import { LimitsDialog } from './limits-dialog.tsx'
import { RevokeDialog } from './revoke-dialog.tsx'

export interface DeedProps {
  api_key: ApiKey
  onClose(): void
  onChanged(): void
}

const DEEDS = [
  { label: 'Spending limit', look: 'plain', Deed: BudgetDialog },
  { label: 'Rate limits', look: 'plain', Deed: LimitsDialog },
  { label: 'Revoke', look: 'danger', Deed: RevokeDialog },
] as const

export function KeyActions({ api_key, onChanged }: Omit<DeedProps, 'onClose'>) {
  const [open, setOpen] = useState<string>()
  const close = () => setOpen(undefined)
  return DEEDS.map(({ label, look, Deed }) => (
    <span key={label}>
      <Button look={look} onClick={() => setOpen(label)}>
        {label}
      </Button>
      {open === label && <Deed api_key={api_key} onClose={close} onChanged={onChanged} />}
    </span>
  ))
}
