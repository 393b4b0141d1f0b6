// How an answer came about, beside it: its headers as they arrived, and what it cost once that is known (R41).

import type { Trace } from '../../api/generation-calls.ts'
import { count, exactMoney } from '../../parts/amounts.ts'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { Stat, Stats } from '../../parts/card.tsx'
import { duration } from '../../parts/figures.ts'
import { Link } from '../../state/navigation.tsx'
import type { Run } from '../../state/playground-call.ts'

const PHASES: Record<Run['phase'], { word: string; tone: Tone }> = {
  streaming: { word: 'streaming', tone: 'calm' },
  completed: { word: 'completed', tone: 'good' },
  stopped: { word: 'stopped', tone: 'warn' },
  failed: { word: 'failed', tone: 'bad' },
}

export function RunFacts({ run }: { run: Run }) {
  const { word, tone } = PHASES[run.phase]
  const trace_id = run.headers.get('agent-trace-id')
  return (
    <div className="stack">
      <span className="row" role="status">
        <Badge tone={tone}>{word}</Badge>
        {trace_id && <Link to={`/traces/${trace_id}`}>{trace_id}</Link>}
      </span>
      <Costs run={run} />
      <HeaderTable headers={run.trace ? explained(run.trace) : plain(run.headers)} />
    </div>
  )
}

function Costs({ run: { phase, trace, untold, headers } }: { run: Run }) {
  if (phase === 'streaming') return <p className="muted">What it costs is known at its end.</p>
  if (!trace)
    return (
      <p className="muted" role="status">
        {!headers.has('agent-trace-id') && 'Nothing was generated, and nothing charged.'}
        {headers.has('agent-trace-id') && (untold ? 'Its cost will stand in usage.' : 'Looking up what it cost …')}
      </p>
    )
  const { usage } = trace
  if (usage === null) return <p className="muted">It was refused. Nothing was generated, and nothing charged.</p>
  return (
    <Stats>
      <Stat label="Charged">{exactMoney(usage.charged_micros)}</Stat>
      <Stat label="Saved">{exactMoney(usage.savings_micros)}</Stat>
      <Stat label="Tokens in">
        {count(usage.input_tokens)}
        {usage.cached_tokens > 0 && <span className="muted"> ({count(usage.cached_tokens)} cached)</span>}
      </Stat>
      <Stat label="Tokens out">{count(usage.output_tokens)}</Stat>
      <Stat label="First token">{usage.ttft_ms === null ? 'none' : duration(usage.ttft_ms)}</Stat>
      <Stat label="Took">{duration(usage.duration_ms)}</Stat>
    </Stats>
  )
}

interface ShownHeader {
  name: string
  value: string
  sentence?: string
}

const plain = (headers: Run['headers']): ShownHeader[] => [...headers].map(([name, value]) => ({ name, value }))
const explained = ({ headers }: Trace): ShownHeader[] => headers

function HeaderTable({ headers }: { headers: readonly ShownHeader[] }) {
  if (headers.length === 0) return null
  return (
    <table className="table table-dense header-table">
      <caption className="visually-hidden">Agent headers of the answer</caption>
      <tbody>
        {headers.map(({ name, value, sentence }) => (
          <tr key={name}>
            <th scope="row">
              <code>{name}</code>
            </th>
            <td>
              <code>{value}</code>
              {sentence && <span className="muted">{sentence}</span>}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
