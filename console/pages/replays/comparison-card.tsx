// What a replay run found: only what differs by more than the control arm does by itself, and the rest on demand.
import { useCallback, useMemo, useState } from 'react'
import { compareReplay, type ReplayComparison } from '../../api/replay-calls.ts'
import { count } from '../../parts/amounts.ts'
import { Badge } from '../../parts/badge.tsx'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { LoadFailure } from '../../parts/load-failure.tsx'
import { useResource } from '../../state/resource.ts'
import { amountOf, measureName } from './replay-words.tsx'

/** `done`: how many were answered. Each time that changes, they are compared again. */
export function ComparisonCard({ id, done }: { id: string; done: number }) {
  const key = useMemo(() => ({ id, done }), [id, done])
  const { state, reload } = useResource(
    useCallback((signal) => compareReplay(key.id, signal), [key]),
    { keep: true },
  )
  const [all, setAll] = useState(false)
  const toggle = <Button onClick={() => setAll(!all)}>{all ? 'Only differences' : 'Show everything'}</Button>
  return (
    <Card title="Compared with what was recorded" actions={toggle}>
      {state.kind === 'failed' && <LoadFailure what="The comparison" error={state.error} onRetry={reload} />}
      {state.kind === 'loading' && <p role="status">Loading …</p>}
      {state.kind === 'ready' && <Compared comparison={state.value} all={all} />}
    </Card>
  )
}

function Compared({ comparison, all }: { comparison: ReplayComparison; all: boolean }) {
  const { compared, control_compared, rates, amounts, differences } = comparison
  const isShown = (line: { exceeds_control: boolean }) => all || line.exceeds_control
  const against =
    control_compared === null ? 'There is no control arm.' : `${count(control_compared)} in the control arm.`
  return (
    <>
      <p>
        {count(compared)} calls compared. {against}{' '}
        {differences.length === 0 && (
          <strong>
            Nothing differs {control_compared === null ? 'beyond chance' : 'by more than the control arm does'}.
          </strong>
        )}
      </p>
      {(all || differences.length > 0) && (
        <table className="table">
          <caption className="visually-hidden">Differences</caption>
          <thead>
            <tr>
              <th scope="col">Measure</th>
              <th scope="col">Recorded</th>
              <th scope="col">Target</th>
              <th scope="col">Control</th>
            </tr>
          </thead>
          <tbody>
            {rates.filter(isShown).map((line) => (
              <tr key={line.measure}>
                <Name line={line} />
                <td data-label="Recorded">–</td>
                <td data-label="Target">{rateText(line.target)}</td>
                <td data-label="Control">{line.control ? rateText(line.control) : '–'}</td>
              </tr>
            ))}
            {amounts.filter(isShown).map((line) => (
              <tr key={line.measure}>
                <Name line={line} />
                <td data-label="Recorded">{amountOf(line.measure, line.recorded)}</td>
                <td data-label="Target">{deltaText(line.measure, line.target)}</td>
                <td data-label="Control">{line.control ? deltaText(line.measure, line.control) : '–'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  )
}

const Name = ({ line }: { line: { measure: string; exceeds_control: boolean } }) => (
  <th scope="row">
    {measureName(line.measure)} {line.exceeds_control && <Badge tone="warn">differs</Badge>}
  </th>
)

const percent = (share: number) => `${(100 * share).toFixed(1)}%`

const rateText = ({ count: different, of, low, high }: ReplayComparison['rates'][number]['target']) =>
  `${count(different)} of ${count(of)} differ (${percent(low)} to ${percent(high)})`

function deltaText(measure: string, { sum, delta }: ReplayComparison['amounts'][number]['target']): string {
  const sign = delta < 0 ? '−' : '+'
  return `${amountOf(measure, sum)} (${sign}${amountOf(measure, Math.abs(delta))})`
}
