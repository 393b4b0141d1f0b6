// Try any model or alias: a chat that streams, with hints, what came back beside it, and the same as code.
import { useEffect, useRef, useState } from 'react'
import type { ApiError } from '../../api/api-client.ts'
import { type GatewayView, listModels, type Turn, theGateway } from '../../api/generation-calls.ts'
import { money } from '../../parts/amounts.ts'
import { Card } from '../../parts/card.tsx'
import { CodeBlock } from '../../parts/code-block.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { LoadFailure } from '../../parts/load-failure.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { useGeneration } from '../../state/playground-call.ts'
import { asApiError, useResource } from '../../state/resource.ts'
import { useMay, useMe } from '../../state/session.tsx'
import { useShortcut } from '../../state/shortcuts.ts'
import { firstModel } from '../start/first-model.ts'
import { Composer, Conversation } from './conversation.tsx'
import { PlaygroundControls } from './playground-controls.tsx'
import { requestCodes } from './request-code.ts'
import { RunFacts } from './run-facts.tsx'
import { encodeHints, hintsOf, NO_WISH, requestOf, WISH_NUMBERS, type Wish } from './wish.ts'

const FIELDS = ['model', 'instructions', ...WISH_NUMBERS]
const NO_TURNS: readonly Turn[] = []
const EXAMPLE: Turn = { role: 'user', content: 'Say hello.' }

export default function PlaygroundPage() {
  const models = useResource(listModels)
  const gateway = useResource(theGateway)
  const [wish, setWish] = useWish(models.state.kind === 'ready' ? firstModel(models.state.value, undefined) : undefined)
  const chat = useChat(wish)
  const may_generate = useMay('inference')
  const streaming = chat.generation.run?.phase === 'streaming'
  const box = useRef<HTMLTextAreaElement>(null)
  useShortcut('/', 'Write a message', () => box.current?.focus())
  return (
    <>
      <PageHeader title="Playground" lead={<WhoPays />} />
      {models.state.kind === 'failed' && (
        <LoadFailure what="Models" error={models.state.error} onRetry={models.reload} />
      )}
      <div className="playground">
        <div>
          <Card title="Chat">
            <Conversation turns={chat.turns} coming={streaming ? chat.generation.run?.text : undefined} />
            <FormError error={chat.error} fields={FIELDS} />
            <Composer
              text={chat.text}
              onChange={chat.setText}
              streaming={streaming}
              disabled={!may_generate}
              can_clear={chat.turns.length > 0}
              box={box}
              onSend={() => void chat.send()}
              onStop={chat.generation.stop}
              onClear={chat.clear}
            />
          </Card>
          {chat.generation.run && (
            <Card title="How the answer came about">
              <RunFacts run={chat.generation.run} />
            </Card>
          )}
        </div>
        <Card title="Request">
          <PlaygroundControls
            wish={wish}
            onChange={setWish}
            models={models.state.kind === 'ready' ? models.state.value : []}
            error={chat.error}
          />
          {gateway.state.kind === 'ready' && <Price gateway={gateway.state.value} model={wish.model.trim()} />}
        </Card>
      </div>
      <Card title="The same as code">
        <Code wish={wish} turns={chat.turns} text={chat.text} />
      </Card>
    </>
  )
}

/** A model is offered until somebody names another one. */
function useWish(first_model: string | undefined): [Wish, (wish: Wish) => void] {
  const [wish, setWish] = useState(NO_WISH)
  useEffect(() => {
    if (first_model !== undefined)
      setWish((before) => (before.model === '' ? { ...before, model: first_model } : before))
  }, [first_model])
  return [wish, setWish]
}

function useChat(wish: Wish) {
  const [turns, setTurns] = useState(NO_TURNS)
  const [text, setText] = useState('')
  const [error, setError] = useState<ApiError>()
  const generation = useGeneration()
  const sending = useRef(false)

  async function send() {
    if (sending.current || text.trim() === '') return
    setError(undefined)
    const asked = [...turns, { role: 'user' as const, content: text }]
    try {
      const [request, hints] = [requestOf(wish, asked), hintsOf(wish)]
      sending.current = true
      setTurns(asked)
      setText('')
      const { text: answer, error, phase } = await generation.start(request, hints && encodeHints(hints))
      setError(error)
      if (answer !== '' || phase === 'completed') setTurns([...asked, { role: 'assistant', content: answer }])
      else if (phase === 'failed') {
        // Nothing came: what was typed is typed again by nobody.
        setTurns(turns)
        setText(text)
      }
    } catch (cause) {
      setError(asApiError(cause))
    } finally {
      sending.current = false
    }
  }

  function clear() {
    setTurns(NO_TURNS)
    setError(undefined)
    generation.clear()
  }

  return { turns, text, setText, error, send, clear, generation }
}

function WhoPays() {
  const { project } = useMe()
  const may_generate = useMay('inference')
  if (!may_generate) return <p>You are a {project?.role} here. Owners and members may generate.</p>
  return (
    <p>
      Runs on the account of <strong>{project?.name}</strong>: it counts against the project’s cap and no key’s budget,
      and is listed in usage under your session.
    </p>
  )
}

function Price({ gateway, model }: { gateway: GatewayView; model: string }) {
  const known = gateway.providers.flatMap(({ models }) => models).find(({ id }) => id === model)
  return (
    <p className="field-hint">
      {gateway.execution_mode === 'placeholder' && 'No provider is configured: a placeholder answers, free of charge.'}
      {known?.price &&
        `List price: ${money(known.price.input)} in, ${money(known.price.output)} out for a million tokens.`}
    </p>
  )
}

function Code({ wish, turns, text }: { wish: Wish; turns: readonly Turn[]; text: string }) {
  const typed: readonly Turn[] = text.trim() === '' ? [] : [{ role: 'user', content: text }]
  const asked = turns.at(-1)?.role === 'assistant' && typed.length === 0 ? turns.slice(0, -1) : [...turns, ...typed]
  const input = asked.length > 0 ? asked : [EXAMPLE]
  try {
    const codes = requestCodes({ origin: location.origin, request: requestOf(wish, input), hints: hintsOf(wish) })
    const tab = ({ id, label, code }: (typeof codes)[number]) => ({
      id,
      label,
      content: <CodeBlock code={code} what={`request with ${label}`} />,
    })
    return (
      <>
        <p className="muted">
          Programs speak to <code>/v1</code> with a key of their own, in <code>SWITCHYARD_KEY</code>.
        </p>
        <Tabs label="How to send it" tabs={[tab(codes[0]), tab(codes[1]), tab(codes[2])]} />
      </>
    )
  } catch (cause) {
    return <p className="muted">{asApiError(cause).message}</p>
  }
}
