// Which keys do what on this page: `?` shows it.
import { useState } from 'react'
import { knownShortcuts, useShortcut } from '../state/shortcuts.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'

export function ShortcutsHelp() {
  const [open, setOpen] = useState(false)
  useShortcut('?', 'Show this help', () => setOpen(true))
  return (
    <>
      <button type="button" className="side-link" onClick={() => setOpen(true)}>
        Keyboard shortcuts <kbd>?</kbd>
      </button>
      {open && (
        <Dialog title="Keyboard shortcuts" onClose={() => setOpen(false)}>
          <dl className="shortcuts">
            {knownShortcuts().map(({ keys, meaning }) => (
              <div key={keys}>
                <dt>
                  {keys.split(' ').map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dt>
                <dd>{meaning}</dd>
              </div>
            ))}
          </dl>
          <div className="dialog-actions">
            <Button onClick={() => setOpen(false)}>Close</Button>
          </div>
        </Dialog>
      )}
    </>
  )
}
