// Steps one under the other, each where it lies in time: bars for what took a while, marks for moments.
import type { Trace } from '../../api/insight-calls.ts'
import { duration } from '../../parts/figures.ts'

type TraceStep = Trace['timeline'][number]

const NAMES: Record<TraceStep['phase'], string> = {
  arrival: 'Arrival',
  admission: 'Admission',
  hold: 'Hold',
  attempt: 'Attempt',
  first_token: 'First token',
  answer: 'Answer',
  settle: 'Settle',
  refusal: 'Refusal',
  end: 'End',
}

export function TraceTimeline({ trace: { timeline, duration_ms } }: { trace: Trace }) {
  const whole = Math.max(1, duration_ms)
  const many = timeline.some(({ attempt }) => (attempt ?? 1) > 1)
  return (
    <div className="waterfall">
      <div className="waterfall-scale" aria-hidden="true">
        <span>0</span>
        <span>{duration(whole / 2)}</span>
        <span>{duration(whole)}</span>
      </div>
      <ol>
        {timeline.map((step) => (
          <li key={`${step.phase} ${step.attempt ?? ''}`} data-phase={step.phase} data-bad={isBad(step) || undefined}>
            <span className="waterfall-name">
              {NAMES[step.phase]}
              {many && step.attempt !== null && <span className="muted"> {step.attempt}</span>}
            </span>
            <Track step={step} whole={whole} />
            <span className="waterfall-time">{timeOf(step)}</span>
            <span className="waterfall-sentence">{step.sentence}</span>
          </li>
        ))}
      </ol>
    </div>
  )
}

const GOOD = ['answered', 'completed']

const isBad = ({ outcome }: TraceStep) => outcome !== null && !GOOD.includes(outcome)

/** How long it took, or when it was. */
const timeOf = ({ started_ms, duration_ms }: TraceStep) =>
  duration_ms > 0 ? duration(duration_ms) : `at ${duration(started_ms)}`

function Track({ step: { started_ms, duration_ms }, whole }: { step: TraceStep; whole: number }) {
  const left = Math.min(100, (100 * started_ms) / whole)
  const width = Math.min(100 - left, (100 * duration_ms) / whole)
  return (
    <span className="waterfall-track" aria-hidden="true">
      <span
        className={duration_ms > 0 ? 'waterfall-bar' : 'waterfall-mark'}
        style={{ left: `${left}%`, ...(duration_ms > 0 && { width: `${width}%` }) }}
      />
    </span>
  )
}
