// A box to type in, with what there is to choose from below it. What is typed may be none of these.
import { useState } from 'react'
import { count } from './amounts.ts'
import { useOptionList } from './option-list.tsx'

export interface Choice {
  value: string
  label: string
  hint?: string
}

interface ComboboxProps {
  id: string
  placeholder: string
  text: string
  choices: readonly Choice[]
  onText(text: string): void
  onChoose(choice: Choice): void
  /** Somebody is about to type. */
  onNear(): void
}

const SHOWN_MAX = 50

export function Combobox({ id, placeholder, text, choices, onText, onChoose, onNear }: ComboboxProps) {
  const [open, setOpen] = useState(false)
  const shown = open ? fitting(choices, text).slice(0, SHOWN_MAX) : []
  function choose(at: number) {
    const choice = shown[at]
    if (!choice) return
    setOpen(false)
    onChoose(choice)
  }
  const options = useOptionList({ count: shown.length, of: text, onChoose: choose, first: -1 })
  return (
    <span className="combobox">
      <input
        id={id}
        type="text"
        autoComplete="off"
        spellCheck={false}
        placeholder={placeholder}
        value={text}
        {...options.box}
        onFocus={onNear}
        onClick={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onChange={(event) => {
          setOpen(true)
          onText(event.target.value)
        }}
        onKeyDown={(event) => {
          if (event.key === 'Escape') setOpen(false)
          else if (event.key === 'ArrowDown' && !open) setOpen(true)
          else options.onKey(event)
        }}
      />
      <ul {...options.list} className="option-list" aria-label="Choices" hidden={shown.length === 0}>
        {shown.map(({ value, label, hint }, at) => (
          <li key={value} {...options.option(at)}>
            <span>{label}</span>
            {hint !== undefined && <span className="muted">{hint}</span>}
          </li>
        ))}
      </ul>
      <span className="visually-hidden" role="status">
        {open && choices.length > 0 && `${count(shown.length)} to choose from`}
      </span>
    </span>
  )
}

function fitting(choices: readonly Choice[], text: string): readonly Choice[] {
  const wanted = text.trim().toLowerCase()
  return choices.filter(({ value, label }) => `${label} ${value}`.toLowerCase().includes(wanted))
}
