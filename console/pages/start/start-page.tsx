// The first steps, which end in a working request: confirm the address, make a key, send something, see it arrive.
import { type ReactNode, useCallback, useEffect, useState } from 'react'
import { createKey, type NewKey } from '../../api/key-calls.ts'
import { type UsageEvent, usageEvents } from '../../api/usage-calls.ts'
import { money } from '../../parts/amounts.ts'
import { Button, LinkButton } from '../../parts/button.tsx'
import { CodeBlock } from '../../parts/code-block.tsx'
import { FormError } from '../../parts/field.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { useResource } from '../../state/resource.ts'
import { useMay, useMe, useSession } from '../../state/session.tsx'
import { useSubmission } from '../../state/submission.ts'
import { FIRST_REQUESTS } from './first-requests.ts'

const NEW_KEY: NewKey = { name: 'first key', scopes: ['inference'] }
const PLACE_OF_KEY = 'svc_live_…'
const WAIT_MS = 2_000
const ASK_AGAIN_MS = 5_000

interface MadeKey {
  id: string
  /** Undefined once somebody said that they stored it. */
  raw: string | undefined
}

export default function StartPage() {
  const { person } = useMe()
  const may_create = useMay('admin')
  const [made, setMade] = useState<MadeKey>()
  const [arrived, setArrived] = useState<UsageEvent>()
  useAddressWatch(person.email_verified)
  const making = useSubmission(async (body: NewKey, idempotency_key) => {
    const { id, key } = await createKey(body, idempotency_key)
    setMade({ id, raw: key })
  })

  return (
    <>
      <PageHeader title="Get started" lead="Four steps to the first request. It takes a minute." />
      <ol className="steps">
        <Step title="Confirm your e-mail address" done={person.email_verified}>
          {person.email_verified ? (
            <p className="muted">{person.email} is confirmed.</p>
          ) : (
            <p>
              Open the link that was sent to <strong>{person.email}</strong>. This page notices by itself.
            </p>
          )}
        </Step>
        <Step title="Make a key" done={made !== undefined}>
          {made === undefined ? (
            <div className="stack">
              <p>
                {may_create
                  ? 'It may generate, and nothing else. You can give it a budget later.'
                  : 'Only owners of a project make keys. Ask one for a key of yours.'}
              </p>
              <FormError error={making.error} fields={[]} />
              {may_create && (
                <Button
                  look="primary"
                  busy={making.busy}
                  disabled={!person.email_verified}
                  onClick={() => void making.submit(NEW_KEY)}
                >
                  Make a key
                </Button>
              )}
            </div>
          ) : (
            <Made made={made} onStored={() => setMade({ id: made.id, raw: undefined })} />
          )}
        </Step>
        <Step title="Send a request" done={arrived !== undefined}>
          <Tabs label="How to send it" tabs={[request(0, made?.raw), request(1, made?.raw), request(2, made?.raw)]} />
        </Step>
        <Step title="See it arrive" done={arrived !== undefined}>
          {arrived ? (
            <Arrived event={arrived} />
          ) : made ? (
            <Wait key_id={made.id} onArrived={setArrived} />
          ) : (
            <p className="muted">Once you have a key, this page watches for its first request.</p>
          )}
        </Step>
      </ol>
    </>
  )
}

const Step = ({ title, done, children }: { title: string; done: boolean; children: ReactNode }) => (
  <li className="step" data-done={done || undefined}>
    <div className="step-body">
      <h2>
        {title}
        {done && <span className="visually-hidden"> (done)</span>}
      </h2>
      {children}
    </div>
  </li>
)

function request(at: 0 | 1 | 2, raw: string | undefined) {
  const { id, label, code } = FIRST_REQUESTS[at] ?? FIRST_REQUESTS[0]
  return {
    id,
    label,
    content: <CodeBlock code={code(location.origin, raw ?? PLACE_OF_KEY)} what={`request with ${label}`} />,
  }
}

/** The address is confirmed in another tab, or on another machine. */
function useAddressWatch(verified: boolean): void {
  const { refresh } = useSession()
  useEffect(() => {
    if (verified) return
    const timer = setInterval(() => {
      if (!document.hidden) void refresh()
    }, ASK_AGAIN_MS)
    return () => clearInterval(timer)
  }, [verified, refresh])
}

function Made({ made, onStored }: { made: MadeKey; onStored(): void }) {
  if (made.raw === undefined) return <p className="muted">The key is made, and no longer on this page.</p>
  return (
    <div className="stack">
      <p>It stands in the request below, this once. Store it if you want to keep it: here, only its hash is kept.</p>
      <div className="secret">
        <code>{made.raw}</code>
        <Button onClick={onStored}>I have stored it</Button>
      </div>
    </div>
  )
}

function Wait({ key_id, onArrived }: { key_id: string; onArrived(event: UsageEvent): void }) {
  const { state } = useResource(
    useCallback((signal) => usageEvents({ key_id, limit: '1' }, signal), [key_id]),
    { poll_ms: WAIT_MS },
  )
  const failure = state.kind === 'failed' ? state.error : state.kind === 'ready' ? state.stale : undefined
  useEffect(() => {
    const [event] = state.kind === 'ready' ? state.value : []
    if (event) onArrived(event)
  }, [state, onArrived])
  return (
    <p className="watching" role="status">
      <span className="pulse" aria-hidden="true" />
      {failure ? `Still trying: ${failure.message}` : 'Waiting for your first request …'}
    </p>
  )
}

const Arrived = ({ event }: { event: UsageEvent }) => (
  <div className="stack">
    <p className="notice notice-good" role="status">
      <strong>Your first request arrived.</strong> {event.resolved_model} answered in {event.duration_ms} ms, for{' '}
      {money(event.charged_micros)}
      {event.mode === 'placeholder' && ' (the placeholder, since no provider is configured yet)'}.
    </p>
    <span className="row">
      <LinkButton to={`/keys/${event.key_id}`} look="primary">
        Look at the key
      </LinkButton>
      <LinkButton to="/keys">All keys</LinkButton>
    </span>
  </div>
)
