// Where a generation could have gone: how each cluster stood when it was routed, and what was observed afterwards.
import type { Trace } from '../../api/insight-calls.ts'
import { count } from '../../parts/amounts.ts'
import { Card } from '../../parts/card.tsx'
import { duration } from '../../parts/figures.ts'

type Placing = NonNullable<Trace['placing']>

export function TraceRoute({ placing: { chosen, candidates, observed } }: { placing: Placing }) {
  const { input_tokens, cached_tokens, first_token_ms } = observed
  return (
    <Card title="Route" actions={<span className="muted">best first</span>}>
      <table className="table table-dense">
        <caption className="visually-hidden">How the clusters stood</caption>
        <thead>
          <tr>
            <th scope="col">Target</th>
            <th scope="col" data-align="right">
              In flight
            </th>
            <th scope="col" data-align="right">
              Held
            </th>
            <th scope="col" data-align="right">
              To read
            </th>
            <th scope="col" data-align="right">
              First token
            </th>
          </tr>
        </thead>
        <tbody>
          {candidates.map(({ target, in_flight_tokens, held_tokens, uncached_tokens, expected_first_token_ms }) => (
            <tr key={target}>
              <td>
                <code>{target}</code>
                {target === chosen && ' answered'}
              </td>
              <td data-align="right">{count(in_flight_tokens)}</td>
              <td data-align="right">{count(held_tokens)}</td>
              <td data-align="right">{count(uncached_tokens)}</td>
              <td data-align="right">{expected_first_token_ms === null ? '–' : duration(expected_first_token_ms)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="muted">
        Expected, in tokens. Observed: {count(cached_tokens)} of {count(input_tokens)} cached
        {first_token_ms !== null && `, first token after ${duration(first_token_ms)}`}.
      </p>
    </Card>
  )
}
