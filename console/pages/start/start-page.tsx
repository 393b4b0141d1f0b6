// The first steps, which end in a real answer: confirm the address, connect a provider, make a key, send something, and
// see it arrive.
import { type ReactNode, useCallback, useEffect, useState } from 'react'
import { type UsageEvent, usageEvents } from '../../api/usage-calls.ts'
import { exactMoney } from '../../parts/amounts.ts'
import { LinkButton } from '../../parts/button.tsx'
import { duration } from '../../parts/figures.ts'
import { PageHeader } from '../../parts/page-header.tsx'
import { TimeAgo } from '../../parts/time-ago.tsx'
import { noteAnswer } from '../../state/first-steps-over.ts'
import { useResource } from '../../state/resource.ts'
import { useMe, useSession } from '../../state/session.tsx'
import { type Connected, ConnectProvider } from './connect-provider.tsx'
import { firstModel } from './first-model.ts'
import { firstProgress, type Progress } from './first-progress.ts'
import { Made, type MadeKey, MakeKey, SendRequest } from './first-steps.tsx'

const WAIT_MS = 2_000
const ASK_AGAIN_MS = 5_000

export default function StartPage() {
  const { person, project } = useMe()
  const [made, setMade] = useState<MadeKey>()
  const [arrived, setArrived] = useState<UsageEvent>()
  const [connected, setConnected] = useState<Connected>()
  const { state, reload } = useResource(firstProgress)
  const { has_key, latest, is_live, models } = state.kind === 'ready' ? state.value : NOTHING_YET
  const model = connected?.model ?? firstModel(models, connected?.provider)
  useAddressWatch(person.email_verified)
  // Who leaves the page has seen the key for the last time.
  useEffect(() => () => made?.secret.forget(), [made])

  function forget({ id, secret }: MadeKey) {
    secret.forget()
    setMade({ id, secret })
  }

  function connect(to: Connected) {
    setConnected(to)
    reload()
  }

  const see = useCallback(
    (event: UsageEvent) => {
      setArrived(event)
      if (project) noteAnswer(project.id, event.mode)
    },
    [project],
  )
  const answered = arrived ?? latest
  return (
    <>
      <PageHeader title="Get started" lead="From nothing to the first answer in a minute." />
      <ol className="steps">
        <Step title="Confirm your e-mail address" done={person.email_verified}>
          <Confirmation {...person} />
        </Step>
        <Step title="Connect a provider" done={is_live || connected !== undefined}>
          {is_live || connected ? <IsConnected to={connected} /> : <ConnectProvider onConnected={connect} />}
        </Step>
        <Step title="Make a key" done={made !== undefined || has_key}>
          {made && <Made raw={made.secret.read()} onStored={() => forget(made)} />}
          {!made && <MakeKey another={has_key} onMade={setMade} />}
        </Step>
        <Step title="Send a request" done={answered !== undefined}>
          <SendRequest made={made} model={model} />
        </Step>
        <Step title="See it arrive" done={answered !== undefined}>
          {arrived && <Arrived event={arrived} />}
          {!arrived && made && <Wait key_id={made.id} onArrived={see} />}
          {!arrived && !made && <Before latest={latest} />}
        </Step>
      </ol>
    </>
  )
}

const NOTHING_YET: Progress = { has_key: false, latest: undefined, is_live: false, models: [] }

const IsConnected = ({ to }: { to: Connected | undefined }) => (
  <p className="muted">{to ? `${to.provider} is connected, and took the key.` : 'A provider is connected.'}</p>
)

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
      <strong>Your first request arrived.</strong> {howAnswered(event)}
    </p>
    <span className="row">
      <LinkButton to={`/traces/${event.trace_id}`} look="primary">
        Look at the request
      </LinkButton>
      <LinkButton to={`/keys/${event.key_id}`}>Look at the key</LinkButton>
    </span>
  </div>
)

function howAnswered({ resolved_model, duration_ms, charged_micros, mode }: UsageEvent): string {
  const placeholder = mode === 'placeholder' ? ' (the placeholder, since no provider is connected yet)' : ''
  return `${resolved_model} answered in ${duration(duration_ms)}, for ${exactMoney(charged_micros)}${placeholder}.`
}
