// What a list of choices below a box has in common: one of them is active, the arrows move it, Enter takes it, and
// screen readers are told which it is and how many there are.
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'

interface Asked {
  /** How many there are to choose from. */
  count: number
  /** What the list is of: another one begins at its top. */
  of: string
  onChoose(at: number): void
  /** Where the list begins: nothing is active until somebody moves, or the first is. */
  first?: -1 | 0
}

export function useOptionList({ count, of, onChoose, first = 0 }: Asked) {
  const id = useId()
  const [moved, setMoved] = useState({ of, at: first as number })
  const active = moved.of === of ? Math.min(moved.at, count - 1) : Math.min(first, count - 1)
  const list = useRef<HTMLUListElement>(null)

  useEffect(() => {
    if (active >= 0) document.getElementById(`${id}-${active}`)?.scrollIntoView({ block: 'nearest' })
  }, [id, active])

  function onKey(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined && count > 0) {
      event.preventDefault()
      setMoved({ of, at: (active + step + count) % count })
    } else if (event.key === 'Enter' && active >= 0 && !event.nativeEvent.isComposing) {
      event.preventDefault()
      onChoose(active)
    }
  }

  return {
    active,
    onKey,
    /** For the box. */
    box: {
      role: 'combobox' as const,
      'aria-autocomplete': 'list' as const,
      'aria-expanded': count > 0,
      'aria-controls': `${id}-list`,
      'aria-activedescendant': active >= 0 ? `${id}-${active}` : undefined,
    },
    list: { ref: list, id: `${id}-list`, role: 'listbox' as const },
    option: (at: number) => ({
      id: `${id}-${at}`,
      role: 'option' as const,
      'aria-selected': at === active,
      tabIndex: -1,
      // The box keeps the focus.
      onMouseDown: (event: { preventDefault(): void }) => event.preventDefault(),
      onClick: () => onChoose(at),
    }),
  }
}
