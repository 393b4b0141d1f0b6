// What the client of a generation sent and was sent, where that was recorded; and why not, where it was not. The bytes
// are asked for once somebody opens them: a prompt may be long, and not for whoever looks over a shoulder.
import { useCallback, useState } from 'react'
import { findRecording, type Recording, recordedBytes, type Trace } from '../../api/insight-calls.ts'
import { count } from '../../parts/amounts.ts'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { CodeBlock } from '../../parts/code-block.tsx'
import { FormError } from '../../parts/labelled-field.tsx'
import { LoadFailure } from '../../parts/load-failure.tsx'
import { saveFile } from '../../parts/save-file.ts'
import { Link } from '../../state/navigation.tsx'
import { useResource } from '../../state/resource.ts'
import { useSubmission } from '../../state/submission.ts'
import { readable } from './recorded-text.ts'

export function TraceRecording({ id, recording }: Pick<Trace, 'id' | 'recording'>) {
  const [is_open, setOpen] = useState(false)
  return (
    <Card title="Request and answer">
      {!recording.recorded && <NotRecorded why={recording.why_not} />}
      {recording.recorded && !is_open && <Button onClick={() => setOpen(true)}>Show request and answer</Button>}
      {is_open && <Contents trace_id={id} />}
    </Card>
  )
}

/** Where the API is named, the page has a link. */
const NotRecorded = ({ why }: { why: string | null | undefined }) => {
  const words = why?.replace(/ \(POST \S+\)/, '')
  return (
    <p className="muted">
      Not recorded. {words} {words !== why && <Link to="/settings">Settings of the project</Link>}
    </p>
  )
}

function Contents({ trace_id }: { trace_id: string }) {
  const { state, reload } = useResource(useCallback((signal) => findRecording(trace_id, signal), [trace_id]))
  const address = `/v2/recordings/${trace_id}`
  if (state.kind === 'loading') return <span className="skeleton" role="status" aria-label="Loading" />
  if (state.kind === 'failed') {
    const { error } = state
    const is_answer = error.status === 404 || error.status === 403 // gone by now, or not for everybody
    if (is_answer) return <p className="muted">{error.message}</p>
    return <LoadFailure what="The recording" error={error} onRetry={reload} />
  }
  return (
    <>
      <Part title="Request" part={state.value.request} address={`${address}/request`} />
      <Part title="Answer" part={state.value.answer} address={`${address}/answer`} />
    </>
  )
}

interface PartProps {
  title: string
  part: Recording['request']
  address: string
}

const Part = ({ title, part: { bytes, encoding, text }, address }: PartProps) => (
  <details className="chart-table" open={bytes <= SHORT_BYTES}>
    <summary>
      {title}, {count(bytes)} bytes{encoding === 'base64' && ', no text: shown as base64'}
    </summary>
    {text !== null && <CodeBlock code={encoding === 'base64' ? text : readable(text)} what={title.toLowerCase()} />}
    <DownloadBytes address={address} file={`${title.toLowerCase()}.bin`}>
      {text === null ? 'Too long to show here: download its bytes' : 'Download its bytes'}
    </DownloadBytes>
  </details>
)

const SHORT_BYTES = 8_192

function DownloadBytes({ address, file, children }: { address: string; file: string; children: string }) {
  const fetching = useSubmission(async (from: string) => saveFile(await recordedBytes(from), file))
  return (
    <div className="stack">
      <FormError error={fetching.error} fields={[]} />
      <span>
        <Button look="quiet" busy={fetching.busy} onClick={() => void fetching.submit(address)}>
          {children}
        </Button>
      </span>
    </div>
  )
}
