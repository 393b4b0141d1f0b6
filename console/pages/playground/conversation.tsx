// What was said so far, the answer as it comes, and where the next words are typed.
import { type KeyboardEvent, type RefObject, useEffect, useId, useRef } from 'react'
import type { Turn } from '../../api/generation-calls.ts'
import { Button } from '../../parts/button.tsx'

interface ConversationProps {
  turns: readonly Turn[]
  /** The answer under way; undefined while nothing is asked. */
  coming: string | undefined
}

const NAMES: Record<Turn['role'], string> = { user: 'You', assistant: 'Answer' }

export function Conversation({ turns, coming }: ConversationProps) {
  const end = useRef<HTMLDivElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was just said is to be seen
  useEffect(() => void end.current?.scrollIntoView({ block: 'nearest' }), [turns.length, coming])
  if (turns.length === 0)
    return <p className="empty">Say something. Nothing of it is kept here: it is gone when you leave the page.</p>
  return (
    <div className="talk" role="log" aria-label="Conversation" aria-busy={coming !== undefined}>
      {turns.map((turn, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: turns are only added at the end
        <TurnView key={at} turn={turn} />
      ))}
      {coming !== undefined && <TurnView turn={{ role: 'assistant', content: coming }} coming />}
      <div ref={end} />
    </div>
  )
}

const TurnView = ({ turn: { role, content }, coming = false }: { turn: Turn; coming?: boolean }) => (
  <section className="turn" data-role={role} aria-label={NAMES[role]}>
    <h3>{NAMES[role]}</h3>
    <p>
      {content}
      {coming && <span className="cursor" aria-hidden="true" />}
      {content === '' && !coming && <span className="muted">No text came.</span>}
    </p>
  </section>
)

interface ComposerProps {
  text: string
  onChange(text: string): void
  streaming: boolean
  disabled: boolean
  can_clear: boolean
  box: RefObject<HTMLTextAreaElement | null>
  onSend(): void
  onStop(): void
  onClear(): void
}

export function Composer({ text, onChange, streaming, disabled, can_clear, box, ...on }: ComposerProps) {
  const id = useId()
  function onKey(event: KeyboardEvent<HTMLTextAreaElement>) {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    if (!streaming) on.onSend()
  }
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault()
        on.onSend()
      }}
    >
      <label className="visually-hidden" htmlFor={id}>
        Message
      </label>
      <textarea
        ref={box}
        id={id}
        className="text-area"
        rows={3}
        placeholder="Message. Enter sends, Shift+Enter begins a new line."
        value={text}
        disabled={disabled}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={onKey}
      />
      <span className="row">
        {streaming ? (
          <Button look="danger" onClick={on.onStop}>
            Stop
          </Button>
        ) : (
          <Button look="primary" type="submit" disabled={disabled}>
            Send
          </Button>
        )}
        {can_clear && !streaming && <Button onClick={on.onClear}>Start over</Button>}
      </span>
    </form>
  )
}
