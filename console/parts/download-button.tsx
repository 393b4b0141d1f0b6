// A table as a file. It is fetched with the session, put together here, and handed to the browser to keep.
import { CSV_ROWS_MAX, type CsvTable } from '../api/csv-calls.ts'
import { useSubmission } from '../state/submission.ts'
import { count } from './amounts.ts'
import { Button } from './button.tsx'
import { saveFile } from './save-file.ts'
import { useToast } from './toasts.tsx'

interface DownloadButtonProps {
  /** What is in it, for people who cannot see what stands beside it. */
  what: string
  file: string
  load(): Promise<CsvTable>
}

export function DownloadButton({ what, file, load }: DownloadButtonProps) {
  const say = useToast()
  const fetching = useSubmission(async (_: undefined) => {
    const { parts, whole } = await load()
    saveFile(new Blob(parts, { type: 'text/csv' }), file)
    if (!whole) say(`The newest ${count(CSV_ROWS_MAX)} rows are in the file. For more, ask the API.`)
  })
  return (
    <span className="row">
      {fetching.error && (
        <span className="field-error" role="alert">
          {fetching.error.message}
        </span>
      )}
      <Button busy={fetching.busy} onClick={() => void fetching.submit(undefined)}>
        CSV
        <span className="visually-hidden"> of the {what}, to download</span>
      </Button>
    </span>
  )
}
