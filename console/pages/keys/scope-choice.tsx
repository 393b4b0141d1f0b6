// R3: what a key may do. Each scope includes the ones before it, so one is chosen, not several.
import type { Scope } from '../../../src/core/scopes.ts'

export const SCOPE_CHOICES: readonly [Choice, ...Choice[]] = [
  { scope: 'inference', label: 'Inference', meaning: 'Generate, and read all but what is for admins. For agents.' },
  {
    scope: 'read',
    label: 'Read only',
    meaning: 'Look at all but what is for admins, change and generate nothing. For dashboards.',
  },
  { scope: 'admin', label: 'Admin', meaning: 'Everything, making and revoking keys too. For automation.' },
]

interface Choice {
  scope: Scope
  label: string
  meaning: string
}

export const ScopeChoice = ({ value, onChange }: { value: Scope; onChange(scope: Scope): void }) => (
  <fieldset className="choices">
    <legend>What it may do</legend>
    {SCOPE_CHOICES.map(({ scope, label, meaning }) => (
      <label key={scope} className="choice">
        <input type="radio" name="scope" checked={value === scope} onChange={() => onChange(scope)} />
        <span>
          <strong>{label}</strong>
          <span className="muted">{meaning}</span>
        </span>
      </label>
    ))}
  </fieldset>
)
