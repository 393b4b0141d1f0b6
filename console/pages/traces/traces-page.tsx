// Finding one generation: by the id that its answer carried, or among the latest.
import { useId, useRef, useState } from 'react'
import { Button, LinkButton } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { navigate } from '../../state/navigation.tsx'
import { useShortcut } from '../../state/shortcuts.ts'
import { EventPages } from '../usage/event-pages.tsx'
import { traceIn } from './trace-id.ts'

const ALL = {}

export default function TracesPage() {
  return (
    <>
      <PageHeader
        title="Traces"
        lead="One generation from its arrival to its end: where it went, how long, for how much, and why it failed."
      />
      <FindTrace />
      <Card title="Latest">
        <EventPages
          query={ALL}
          empty={
            <>
              <h2>No traces yet</h2>
              <p>Every generation leaves one. One that was refused is not listed, but its id finds it.</p>
              <LinkButton to="/start">Get started</LinkButton>
            </>
          }
        />
      </Card>
    </>
  )
}

function FindTrace() {
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const [text, setText] = useState('')
  const [wrong, setWrong] = useState(false)
  useShortcut('/', 'Paste a trace or request id', () => input.current?.focus())
  function open(pasted: string) {
    const trace_id = traceIn(pasted)
    setWrong(trace_id === undefined)
    if (trace_id !== undefined) navigate(`/traces/${trace_id}`)
  }
  return (
    <search className="find-trace">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          open(text)
        }}
      >
        <label htmlFor={id}>Trace or request id</label>
        <span className="find-trace-row">
          <span className="field-input">
            <input
              ref={input}
              id={id}
              type="search"
              autoComplete="off"
              spellCheck={false}
              placeholder="trc_… or req_…, from the headers of an answer"
              value={text}
              aria-invalid={wrong || undefined}
              aria-describedby={wrong ? `${id}-wrong` : undefined}
              onChange={(event) => setText(event.target.value)}
              // A whole id that was pasted needs no further key.
              onPaste={(event) => {
                const pasted = event.clipboardData.getData('text')
                if (traceIn(pasted) !== undefined) {
                  event.preventDefault()
                  open(pasted)
                }
              }}
            />
          </span>
          <Button type="submit" look="primary">
            Open
          </Button>
        </span>
        {wrong && (
          <p className="field-error" id={`${id}-wrong`} role="alert">
            A trace id begins with trc_, a request id with req_. Answers carry them as agent-trace-id and x-request-id.
          </p>
        )}
      </form>
    </search>
  )
}
