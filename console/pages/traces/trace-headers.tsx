// The Agent-* headers that the client got, each with what its value means.
import type { Trace } from '../../api/insight-calls.ts'

export const TraceHeaders = ({ headers }: { headers: Trace['headers'] }) => (
  <dl className="headers">
    {headers.map(({ name, value, sent_as, sentence }) => (
      <div key={name}>
        <dt>
          <code>{name}</code>
          {sent_as === 'trailer' && <span className="muted"> as a trailer</span>}
        </dt>
        <dd>
          <code>{value === '' ? '(empty)' : value}</code>
          <span className="muted">{sentence}</span>
        </dd>
      </div>
    ))}
  </dl>
)
