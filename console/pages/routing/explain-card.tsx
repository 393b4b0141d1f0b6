// R40: what POST /v2/route-explain says for a request: the places in order, and those left out with their reasons.
import { type FormEvent, useId, useState } from 'react'
import {
  type Destinations,
  EXPLAIN_PATH,
  explainRoute,
  type RouteExplanation,
  type RouteQuestion,
} from '../../api/routing-calls.ts'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { CodeBlock } from '../../parts/code-block.tsx'
import { curlCommand } from '../../parts/curl-command.ts'
import { Field } from '../../parts/field.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { useSubmission } from '../../state/submission.ts'
import { placeName } from './target-shares.ts'

interface ExplainCardProps {
  /** The aliases that may be asked for, as suggestions. */
  names: readonly string[]
  /** By whose names the ids of targets are called; undefined while they are not known. */
  destinations: Destinations | undefined
  model?: string
}

interface Explained {
  question: RouteQuestion
  answer: RouteExplanation
}

const SUGGESTIONS_MAX = 200

export function ExplainCard({ names, destinations, model: first = '' }: ExplainCardProps) {
  const id = useId()
  const [model, setModel] = useState(first)
  const [session_id, setSession] = useState('')
  const [trace_id, setTrace] = useState('')
  const [explained, setExplained] = useState<Explained>()
  const asking = useSubmission(async (question: RouteQuestion) => {
    setExplained(undefined)
    setExplained({ question, answer: await explainRoute(question) })
  })
  function onSubmit(event: FormEvent) {
    event.preventDefault()
    void asking.submit({ model, ...(session_id && { session_id }), ...(trace_id && { trace_id }) })
  }
  const models = destinations?.providers.flatMap((provider) => provider.models.map(({ id }) => id)) ?? []
  const suggestions = [...new Set([...names, ...models])]
  const texts = [
    { label: 'Model or alias', name: 'model', value: model, onChange: setModel, required: true, list: `${id}-names` },
    {
      label: 'Session',
      name: 'session_id',
      value: session_id,
      onChange: setSession,
      hint: 'Goes where its cache is.',
    },
    {
      label: 'Trace',
      name: 'trace_id',
      value: trace_id,
      onChange: setTrace,
      hint: 'Repeats the weighted choice that it got.',
    },
  ]
  return (
    <Card
      title="Where would a request go?"
      {...(first !== '' && { gist: 'The places in order, and why others are left out' })}
    >
      <form className="stack" noValidate onSubmit={onSubmit}>
        <div className="form-grid">
          {texts.map((one) => (
            <Field key={one.name} {...one} autoComplete="off" error={asking.error} />
          ))}
          <datalist id={`${id}-names`}>
            {suggestions.slice(0, SUGGESTIONS_MAX).map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </div>
        <FormError error={asking.error} fields={texts.map(({ name }) => name)} />
        <span>
          <Button type="submit" busy={asking.busy}>
            Explain
          </Button>
        </span>
      </form>
      <div role="status">{explained && <Explanation {...explained} destinations={destinations} />}</div>
    </Card>
  )
}

function Explanation({ question, answer, destinations }: Explained & Pick<ExplainCardProps, 'destinations'>) {
  const { candidates, dropped, alias_release_id } = answer
  return (
    <div className="stack apart">
      <p>
        {candidates[0] ? (
          <>
            <strong>{question.model}</strong> goes to <strong>{candidates[0].provider}</strong>
            {alias_release_id && (
              <>
                {' '}
                by release <code>{alias_release_id}</code>
              </>
            )}
            . Nobody was called, and nothing is stored.
          </>
        ) : (
          <>
            <strong>{question.model}</strong> goes nowhere now: every place is ruled out.
          </>
        )}
      </p>
      {candidates.length > 0 && <Candidates candidates={candidates} />}
      {dropped.length > 0 && <Dropped dropped={dropped} destinations={destinations} />}
      <details className="more">
        <summary>The same as a request</summary>
        <CodeBlock code={curlCommand(location.origin, EXPLAIN_PATH, question)} what="question as curl" />
      </details>
    </div>
  )
}

const Candidates = ({ candidates }: Pick<RouteExplanation, 'candidates'>) => (
  <ol className="candidates" aria-label="Where it goes, in order">
    {candidates.map(({ target, profile, provider, model, region }, at) => (
      <li key={`${target} ${profile} ${model}`}>
        <span className="two-lines">
          <span>
            <strong>{provider}</strong> <code>{model}</code>
          </span>
          <span className="muted">
            {target} · {region}
          </span>
        </span>
        <span className="row">
          <Badge tone={at === 0 ? 'good' : 'calm'}>{at === 0 ? 'first choice' : 'if that fails'}</Badge>
          <code className="muted">{profile}</code>
        </span>
      </li>
    ))}
  </ol>
)

/** A target's id names its kind and, behind a colon, which one. */
function calledOf(target: string, destinations: Destinations | undefined): string {
  const [kind, id = target] = target.split(':')
  if (kind === 'cluster') return placeName({ cluster_id: id, model: '', weight: 0 }, destinations)
  return kind === 'credential' ? placeName({ credential_id: id, model: '', weight: 0 }, destinations) : id
}

type DroppedProps = Pick<RouteExplanation, 'dropped'> & Pick<ExplainCardProps, 'destinations'>

const Dropped = ({ dropped, destinations }: DroppedProps) => (
  <ul className="candidates" aria-label="Left out">
    {dropped.map(({ target, reason }) => (
      <li key={target}>
        <span className="two-lines">
          <span>
            <strong>{calledOf(target, destinations)}</strong> {reason}
          </span>
          <span className="muted">{target}</span>
        </span>
        <Badge tone="bad">left out</Badge>
      </li>
    ))}
  </ul>
)
