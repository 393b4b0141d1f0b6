// Why a generation was refused or failed: in one sentence, in the upstream's own words, attempt by attempt (R80).
import type { Trace } from '../../api/insight-calls.ts'
import { count } from '../../parts/amounts.ts'
import { Badge } from '../../parts/badge.tsx'
import { LinkButton } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { LAYERS } from '../overview/refusal-layers.ts'
import { mendingsOf } from './trace-mending.ts'

type Refusal = NonNullable<Trace['refusal']>
type Attempt = Trace['attempts'][number]

export function TraceFailure({ trace, refusal }: { trace: Trace; refusal: Refusal }) {
  const { attempts, outcome } = trace
  const { layer, status, type, code, message, upstream_message, count: alike } = refusal
  const failed = attempts.filter(({ failure, message: said }) => failure !== undefined || said !== undefined)
  return (
    <Card
      title={outcome === 'refused' ? 'Why it was refused' : 'Why it failed'}
      actions={<Badge tone="warn">{LAYERS[layer].label}</Badge>}
    >
      <p className="failure-message">{message}</p>
      <p className="muted">
        {status === 200 ? 'After the stream had begun' : `Answered with ${status}`}: <code>{code ?? type}</code>.
        {alike > 1 && ` ${count(alike)} equal refusals in this minute.`}
      </p>
      <Mendings trace={trace} />
      {upstream_message !== null && failed.length === 0 && <Words said={upstream_message} />}
      {failed.length > 0 && (
        <ol className="failed-attempts">
          {failed.map((attempt) => (
            <FailedAttempt key={attempt.n} attempt={attempt} />
          ))}
        </ol>
      )}
    </Card>
  )
}

function Mendings({ trace }: { trace: Trace }) {
  const mendings = mendingsOf(trace)
  if (mendings.length === 0) return null
  return (
    <p className="row mendings">
      {mendings.map(({ to, label }) => (
        <LinkButton key={to} to={to}>
          {label}
        </LinkButton>
      ))}
    </p>
  )
}

const FailedAttempt = ({ attempt: { n, target, model, failure, status, message } }: { attempt: Attempt }) => (
  <li>
    <span>
      Attempt {n}: <code>{target}</code> for {model}, {failure ?? 'no answer'}
      {status !== undefined && failure !== `status ${status}` && ` (status ${status})`}
    </span>
    {message === undefined ? <span className="muted">It said nothing.</span> : <Words said={message} />}
  </li>
)

const Words = ({ said }: { said: string }) => (
  <figure className="upstream-words">
    <figcaption className="muted">The upstream said</figcaption>
    <blockquote>{said}</blockquote>
  </figure>
)
