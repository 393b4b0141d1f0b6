// A form (multipart/form-data) as it goes out: every part in the order in which it came, with the target's name of the
// model in it, and a length that is known before the first byte is sent. Pure.
import { randomBytes } from 'node:crypto'

export interface FormText {
  kind: 'text'
  name: string
  value: string
}

export interface FormFile {
  kind: 'file'
  name: string
  file_name: string | undefined
  media_type: string
  /** How it begins. */
  head: Buffer
  content: { bytes: number; parts(): AsyncIterable<Buffer> }
}

type FormParts = readonly (FormText | FormFile)[]

const CRLF = '\r\n'

/** How it is written: `changed` has texts that take the place of the client's. */
export function writtenForm(form: FormParts, changed: Readonly<Record<string, string>>) {
  const boundary = `switchyard-${randomBytes(18).toString('base64url')}`
  const pieces = form.map((part) => ({ part, head: headOf(part, boundary, changed) }))
  const foot = Buffer.from(`--${boundary}--${CRLF}`)
  const gap = Buffer.from(CRLF)
  const lengthOf = (part: FormText | FormFile) => (part.kind === 'file' ? part.content.bytes : 0)
  const bytes = pieces.reduce((sum, { part, head }) => sum + head.length + lengthOf(part) + gap.length, foot.length)
  return {
    bytes,
    content_type: `multipart/form-data; boundary=${boundary}`,
    async *parts(): AsyncGenerator<Buffer> {
      for (const { part, head } of pieces) {
        yield head
        if (part.kind === 'file') yield* part.content.parts()
        yield gap
      }
      yield foot
    },
  }
}

function headOf(part: FormText | FormFile, boundary: string, changed: Readonly<Record<string, string>>): Buffer {
  const disposition = `--${boundary}${CRLF}Content-Disposition: form-data; name="${quoted(part.name)}"`
  if (part.kind === 'text') return Buffer.from(`${disposition}${CRLF}${CRLF}${changed[part.name] ?? part.value}`)
  const { file_name, media_type } = part
  const named = file_name === undefined ? '' : `; filename="${quoted(file_name)}"`
  return Buffer.from(`${disposition}${named}${CRLF}Content-Type: ${media_type}${CRLF}${CRLF}`)
}

/** As browsers write names into forms. */
const quoted = (name: string) => name.replace(/\r/g, '%0D').replace(/\n/g, '%0A').replace(/"/g, '%22')
