// The first steps, which end in a working request: confirm the address, make a key, send something, see it arrive, and
// put a provider in the place of the placeholder.
import { type ReactNode, useCallback, useEffect, useState } from 'react'
import { createKey, type NewKey } from '../../api/key-calls.ts'
import { type UsageEvent, usageEvents } from '../../api/usage-calls.ts'
import { money } from '../../parts/amounts.ts'
import { Button, LinkButton } from '../../parts/button.tsx'
import { CodeBlock } from '../../parts/code-block.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { useResource } from '../../state/resource.ts'
import { type Secret, secretOf } from '../../state/secret.ts'
import { useMay, useMe, useSession } from '../../state/session.tsx'
import { useSubmission } from '../../state/submission.ts'
import { firstProgress, type Progress } from './first-progress.ts'
import { FIRST_REQUESTS } from './first-requests.ts'

const NEW_KEY: NewKey = { name: 'first key', scopes: ['inference'] }
const PLACE_OF_KEY = 'svc_live_…'
const WAIT_MS = 2_000
const ASK_AGAIN_MS = 5_000

interface MadeKey {
  id: string
  secret: Secret
}

export default function StartPage() {
  const { person } = useMe()
  const [made, setMade] = useState<MadeKey>()
  const [arrived, setArrived] = useState<UsageEvent>()
  const { state } = useResource(firstProgress)
  const { has_key, latest, is_live } = state.kind === 'ready' ? state.value : NOTHING_YET
  useAddressWatch(person.email_verified)
  // Who leaves the page has seen the key for the last time.
  useEffect(() => () => made?.secret.forget(), [made])

  function forget({ id, secret }: MadeKey) {
    secret.forget()
    setMade({ id, secret })
  }

  const raw = made?.secret.read()
  const answered = arrived ?? latest
  return (
    <>
      <PageHeader title="Get started" lead="From nothing to the first answer in a minute." />
      <ol className="steps">
        <Step title="Confirm your e-mail address" done={person.email_verified}>
          <Confirmation {...person} />
        </Step>
        <Step title="Make a key" done={made !== undefined || has_key}>
          {made ? <Made raw={raw} onStored={() => forget(made)} /> : <MakeKey another={has_key} onMade={setMade} />}
        </Step>
        <Step title="Send a request" done={answered !== undefined}>
          <Tabs label="How to send it" tabs={[request(0, raw), request(1, raw), request(2, raw)]} />
        </Step>
        <Step title="See it arrive" done={answered !== undefined}>
          {arrived && <Arrived event={arrived} />}
          {!arrived && made && <Wait key_id={made.id} onArrived={setArrived} />}
          {!arrived && !made && <Before latest={latest} />}
        </Step>
        <Step title="Connect a provider" done={is_live}>
          {is_live ? <p className="muted">A provider answers.</p> : <Connect />}
        </Step>
      </ol>
    </>
  )
}

const NOTHING_YET: Progress = { has_key: false, latest: undefined, is_live: false }

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

function Confirmation({ email, email_verified }: { email: string; email_verified: boolean }) {
  if (email_verified) return <p className="muted">{email} is confirmed.</p>
  return (
    <p>
      Open the link that was sent to <strong>{email}</strong>. This page notices by itself.
    </p>
  )
}

function MakeKey({ another, onMade }: { another: boolean; onMade(made: MadeKey): void }) {
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
        {another ? 'The project has a key. Make one for each agent: it' : 'It'} may generate and read, and change
        nothing. You can give it a budget later.
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

function Made({ raw, onStored }: { raw: string | undefined; onStored(): void }) {
  if (raw === undefined) return <p className="muted">The key is made, and no longer on this page.</p>
  return (
    <div className="stack">
      <p>It is in the request below, and shown only now. To keep it, store it: the server keeps its hash.</p>
      <div className="secret">
        <code>{raw}</code>
        <Button onClick={onStored}>I have stored it</Button>
      </div>
    </div>
  )
}

/** What came before somebody looked at this page, such as the request that the server printed. */
function Before({ latest }: { latest: UsageEvent | undefined }) {
  if (!latest) return <p className="muted">Once you have a key, this page watches for its first request.</p>
  return (
    <p className="row">
      <span>
        The latest was answered by {latest.resolved_model} <TimeAgo at={latest.created_at} />.
      </span>
      <LinkButton to={`/traces/${latest.trace_id}`}>Look at it</LinkButton>
    </p>
  )
}

const Connect = () => (
  <div className="stack">
    <p>
      A placeholder answers, at no charge. For real answers, start the server with <code>OPENAI_API_KEY</code> or a{' '}
      <code>switchyard.yaml</code>, or enter a credential of this project.
    </p>
    <span>
      <LinkButton to="/settings/credentials">Enter a credential</LinkButton>
    </span>
  </div>
)

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
