// One box: an id opens what it is of, anything else is looked for in the errors.
import { useEffect, useId, useRef, useState } from 'react'
import { Button } from '../../parts/button.tsx'
import { navigate } from '../../state/navigation.tsx'
import { useShortcut } from '../../state/shortcuts.ts'
import { traceIn } from '../traces/trace-id.ts'

interface FindRequestProps {
  /** The text that errors are searched for now. */
  error: string | undefined
  onError(text: string | undefined): void
}

export function FindRequest({ error = '', onError }: FindRequestProps) {
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const [text, setText] = useState(error)
  useEffect(() => setText(error), [error])
  useShortcut('/', 'Find a request by its id or its error', () => input.current?.focus())
  function find(typed: string) {
    const trace_id = traceIn(typed)
    if (trace_id === undefined) onError(typed.trim() || undefined)
    else navigate(`/traces/${trace_id}`)
  }
  return (
    <search className="find-trace">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          find(text)
        }}
      >
        <label htmlFor={id}>Id, or text of the error</label>
        <span className="find-trace-row">
          <span className="field-input">
            <input
              ref={input}
              id={id}
              type="search"
              autoComplete="off"
              spellCheck={false}
              maxLength={200}
              placeholder="trc_…, req_…, resp_…, or “out of memory”"
              value={text}
              onChange={(event) => setText(event.target.value)}
              // A whole id that was pasted needs no further key.
              onPaste={(event) => {
                const pasted = event.clipboardData.getData('text')
                if (traceIn(pasted) === undefined) return
                event.preventDefault()
                find(pasted)
              }}
            />
          </span>
          <Button type="submit" look="primary">
            Find
          </Button>
        </span>
      </form>
    </search>
  )
}
