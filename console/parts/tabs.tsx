// Several views of one thing. Arrow keys move between them, as the pattern for tabs asks.
import { type KeyboardEvent, type ReactNode, useId, useState } from 'react'

export interface Tab {
  id: string
  label: string
  content: ReactNode
}

const STEPS: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1 }

export function Tabs({ label, tabs }: { label: string; tabs: readonly [Tab, ...Tab[]] }) {
  const [chosen, setChosen] = useState(tabs[0].id)
  const base = useId()
  const current = tabs.find(({ id }) => id === chosen) ?? tabs[0]

  function onKey(event: KeyboardEvent<HTMLDivElement>) {
    const step = STEPS[event.key]
    if (step === undefined) return
    const next = tabs[(tabs.indexOf(current) + step + tabs.length) % tabs.length] ?? tabs[0]
    setChosen(next.id)
    document.getElementById(`${base}-${next.id}`)?.focus()
  }

  return (
    <div>
      <div role="tablist" aria-label={label} className="tabs" onKeyDown={onKey}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            id={`${base}-${tab.id}`}
            aria-selected={tab === current}
            aria-controls={`${base}-panel`}
            tabIndex={tab === current ? 0 : -1}
            onClick={() => setChosen(tab.id)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${base}-panel`} aria-labelledby={`${base}-${current.id}`} className="tab-panel">
        {current.content}
      </div>
    </div>
  )
}
