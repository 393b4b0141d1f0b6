// R43, 0113: what a part of a prompt brings with it. Text and sound have no more tokens than their bytes allow; a PDF,
// an Office document or a film of a few thousand bytes may have a hundred pages, or an hour. Which of them it is, its
// media type or its name says: upstreams go by these as well.

type Fields = Readonly<Record<string, unknown>>

/** Somewhere else, whatever the field is called: https, gs, s3 and whatever an upstream knows. */
export const isAddress = (text: string): boolean => /^\s*[a-z][a-z0-9+.-]*:\/\//i.test(text)

/** Of a data URI; undefined where it is none. */
export const mediaTypeIn = (uri: unknown): string | undefined =>
  typeof uri === 'string' ? /^\s*data:([^;,]{0,128})/i.exec(uri)?.[1]?.trim().toLowerCase() : undefined

/** An image by its address or by its own data; a film or a document in its place is none. */
export function isImageAt(uri: unknown): boolean {
  const media_type = mediaTypeIn(uri)
  return media_type === undefined || media_type.startsWith('image/')
}

/** Whether there is a file in it that may have far more tokens than bytes, or one that does not say what it is. */
export function bringsPages(part: Fields): boolean {
  const found = new Set<Brought>()
  gather(part, found)
  return found.has('pages') || (found.has('untold') && !found.has('bytes'))
}

type Brought = 'pages' | 'bytes' | 'untold'

function gather(part: Fields, found: Set<Brought>): void {
  for (const [field, value] of Object.entries(part)) {
    if (typeof value === 'object' && value !== null) gather(value as Fields, found)
    const brought = typeof value === 'string' ? broughtBy(field, value) : undefined
    if (brought) found.add(brought)
  }
}

const TYPE_FIELDS = /^(media_?type|mime_?type|content_?type|format)$/i
const NAME_FIELDS = /^file_?name$/i

function broughtBy(field: string, value: string): Brought | undefined {
  const media_type = mediaTypeIn(value)
  if (media_type !== undefined) return ofType(media_type)
  if (field === 'file_data') return 'untold'
  if (TYPE_FIELDS.test(field)) return value.includes('/') ? ofType(value.toLowerCase()) : ofName(value)
  return NAME_FIELDS.test(field) ? ofName(value) : undefined
}

const wordsOf = (...lines: string[]) => new Set(lines.flatMap((line) => line.split(' ')))

const UNTOLD: readonly string[] = ['', 'application/octet-stream', 'binary/octet-stream']
const PAGED = /pdf|^video\//
const PLAIN = /^(text|audio|image)\//
const WRITTEN = /^application\/([\w.-]+\+)?(x-)?(json|ndjson|xml|yaml|toml|sql|csv|javascript|typescript|python|sh)\b/

function ofType(media_type: string): Brought {
  if (UNTOLD.includes(media_type)) return 'untold'
  if (PAGED.test(media_type)) return 'pages'
  return PLAIN.test(media_type) || WRITTEN.test(media_type) ? 'bytes' : 'pages'
}

const PAGED_NAMES = wordsOf(
  'pdf doc docx docm dot dotx rtf odt pages ppt pptx pptm pps ppsx odp key xls xlsx xlsm xlsb ods numbers epub',
  'hwp hwpx mp4 m4v mov avi mkv webm wmv flv mpg mpeg 3gp 3gpp ogv',
)
const PLAIN_NAMES = wordsOf(
  'txt text md markdown rst csv tsv json jsonl ndjson ipynb html htm xml yaml yml toml ini log tex sql css',
  'js mjs cjs jsx ts mts cts tsx py rb rs go java kt swift php sh c h cc cpp hpp cs',
  'png jpg jpeg gif webp wav mp3 flac ogg opus aac m4a',
)

/** `format` has the ending alone. */
function ofName(name: string): Brought | undefined {
  const ending = name
    .slice(name.lastIndexOf('.') + 1)
    .trim()
    .toLowerCase()
  if (PAGED_NAMES.has(ending)) return 'pages'
  return PLAIN_NAMES.has(ending) ? 'bytes' : undefined
}
