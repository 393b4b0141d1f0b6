// Two of the first steps: a key is made and shown once; what it asks is sent from here, or from wherever one likes.
import { useState } from 'react'
import { firstAnswer } from '../../api/generation-calls.ts'
import { createKey, type NewKey } from '../../api/key-calls.ts'
import { Button } from '../../parts/button.tsx'
import { CodeBlock } from '../../parts/code-block.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { type Secret, secretOf } from '../../state/secret.ts'
import { useMay, useMe } from '../../state/session.tsx'
import { useSubmission } from '../../state/submission.ts'
import { FIRST_REQUESTS } from './first-requests.ts'

const NEW_KEY: NewKey = { name: 'first key', scopes: ['inference'] }
const PLACE_OF_KEY = 'svc_live_…'

export interface MadeKey {
  id: string
  secret: Secret
}

export function MakeKey({ another, onMade }: { another: boolean; onMade(made: MadeKey): void }) {
  const { person } = useMe()
  const may_create = useMay('admin')
  const making = useSubmission(async (body: NewKey, idempotency_key) => {
    const { id, key } = await createKey(body, idempotency_key)
    onMade({ id, secret: secretOf(key) })
  })
  if (!may_create) return <p>Only owners of a project make keys. Ask one for a key of yours.</p>
  return (
    <div className="stack">
      <p>
        {another
          ? 'The project has a key. Make one for each agent: it may call models and read, and change nothing.'
          : 'It may call models and read, and change nothing. You can give it a budget later.'}
      </p>
      <FormError error={making.error} fields={[]} />
      <span>
        <Button
          {...(!another && { look: 'primary' as const })}
          busy={making.busy}
          disabled={!person.email_verified}
          onClick={() => void making.submit(NEW_KEY)}
        >
          Make a key
        </Button>
      </span>
    </div>
  )
}

export function Made({ raw, onStored }: { raw: string | undefined; onStored(): void }) {
  if (raw === undefined) return <p className="muted">The key is made, and no longer on this page.</p>
  return (
    <div className="stack">
      <p>It is shown only now. Store it if you want to keep it: the server has its hash alone.</p>
      <div className="secret">
        <code>{raw}</code>
        <CopyButton text={raw} what="key" />
        <Button onClick={onStored}>I have stored it</Button>
      </div>
    </div>
  )
}

interface SendProps {
  made: MadeKey | undefined
  model: string
}

export function SendRequest({ made, model }: SendProps) {
  const raw = made?.secret.read()
  const [answer, setAnswer] = useState<string>()
  const sending = useSubmission(async (_: { at: number }) => {
    const key = made?.secret.read()
    if (key !== undefined) setAnswer(await firstAnswer(key, model))
  })
  const tab = (at: 0 | 1 | 2) => {
    const { id, label, code } = FIRST_REQUESTS[at] ?? FIRST_REQUESTS[0]
    const text = code(location.origin, raw ?? PLACE_OF_KEY, model)
    return { id, label, content: <CodeBlock code={text} what={`request with ${label}`} /> }
  }
  return (
    <div className="stack">
      {raw !== undefined && (
        <span className="row">
          <Button look="primary" busy={sending.busy} onClick={() => void sending.submit({ at: performance.now() })}>
            Send it from this page
          </Button>
          <span className="muted">or from your machine:</span>
        </span>
      )}
      <FormError error={sending.error} fields={[]} />
      {answer !== undefined && (
        <blockquote className="first-answer" aria-label="The answer">
          {answer}
        </blockquote>
      )}
      <Tabs label="How to send it" tabs={[tab(0), tab(1), tab(2)]} />
    </div>
  )
}
