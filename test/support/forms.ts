// Forms (multipart/form-data) as bytes, and uploads of artifacts to a service in process.
import type { Answer, TestProject } from './service.ts'

export interface FormPart {
  name: string
  value: string | Buffer
  filename?: string
  type?: string
}

export const BOUNDARY = '----test-boundary'

export function formBytes(parts: readonly FormPart[], boundary = BOUNDARY): Buffer {
  const bytes = parts.flatMap(({ name, value, filename, type }) => [
    Buffer.from(
      `--${boundary}\r\ncontent-disposition: form-data; name="${name}"` +
        `${filename === undefined ? '' : `; filename="${filename}"`}\r\n` +
        `${type === undefined ? '' : `content-type: ${type}\r\n`}\r\n`,
    ),
    Buffer.from(value),
    Buffer.from('\r\n'),
  ])
  return Buffer.concat([...bytes, Buffer.from(`--${boundary}--\r\n`)])
}

export const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`

interface Uploading {
  kind?: string
  type?: string
  filename?: string
  fields?: Record<string, string>
  headers?: Record<string, string>
}

export const artifactForm = (value: string | Buffer, { kind = 'text', type, filename, fields = {} }: Uploading = {}) =>
  formBytes([
    { name: 'kind', value: kind },
    ...Object.entries(fields).map(([name, text]) => ({ name, value: text })),
    { name: 'file', value, filename: filename ?? 'file.txt', ...(type !== undefined && { type }) },
  ])

export const upload = (
  { send }: Pick<TestProject, 'send'>,
  value: string | Buffer,
  asked: Uploading = {},
): Promise<Answer> =>
  send('POST', '/v2/artifacts', {
    payload: artifactForm(value, asked),
    headers: { 'content-type': FORM_TYPE, ...asked.headers },
  })

/** The smallest PNG there is. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
export const PDF = Buffer.from('%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n')
