// Sets top-level fields of a JSON object without touching any other byte of it: what a client sent reaches the upstream
// as it was written, numbers, spacing and repeated keys included.
const [QUOTE, BACKSLASH, OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET, COMMA, COLON] = [
  0x22, 0x5c, 0x7b, 0x7d, 0x5b, 0x5d, 0x2c, 0x3a,
]

export type Fields = Readonly<Record<string, unknown>>

/** `json` must be the text of an object that parsed. Fields that are there are replaced, the others put in front. */
export function spliceFields(json: Buffer, fields: Fields): Buffer {
  const names = Object.keys(fields)
  if (names.length === 0) return json
  const spans = topLevelValues(json)
  const parts: Buffer[] = []
  let copied = json.indexOf(OPEN_BRACE) + 1
  parts.push(json.subarray(0, copied))
  const added = names.filter((name) => !spans.some((span) => span.name === name))
  const isEmpty = spans.length === 0
  if (added.length > 0) {
    const text = added.map((name) => `${JSON.stringify(name)}:${JSON.stringify(fields[name])}`).join(',')
    parts.push(Buffer.from(isEmpty ? text : `${text},`))
  }
  for (const { name, start, end } of spans) {
    if (!names.includes(name)) continue
    parts.push(json.subarray(copied, start), Buffer.from(JSON.stringify(fields[name])))
    copied = end
  }
  parts.push(json.subarray(copied))
  return Buffer.concat(parts)
}

interface Span {
  name: string
  /** Where the value begins, and where it has ended. */
  start: number
  end: number
}

function topLevelValues(json: Buffer): Span[] {
  const spans: Span[] = []
  let at = json.indexOf(OPEN_BRACE) + 1
  for (;;) {
    at = skipSpace(json, at)
    if (json[at] === CLOSE_BRACE || at >= json.length) return spans
    if (json[at] === COMMA) {
      at++
      continue
    }
    const nameEnd = skipString(json, at)
    const name = JSON.parse(json.toString('utf8', at, nameEnd)) as string
    const start = skipSpace(json, json.indexOf(COLON, nameEnd) + 1)
    const end = skipValue(json, start)
    spans.push({ name, start, end })
    at = end
  }
}

function skipSpace(json: Buffer, from: number): number {
  let at = from
  while (at < json.length && (json[at] as number) <= 0x20) at++
  return at
}

function skipString(json: Buffer, from: number): number {
  for (let at = from + 1; at < json.length; at++) {
    if (json[at] === BACKSLASH) at++
    else if (json[at] === QUOTE) return at + 1
  }
  return json.length
}

function skipValue(json: Buffer, from: number): number {
  let depth = 0
  for (let at = from; at < json.length; at++) {
    const byte = json[at]
    if (byte === QUOTE) {
      at = skipString(json, at) - 1
      if (depth === 0) return at + 1
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (depth === 0) return at
      if (--depth === 0) return at + 1
    } else if (depth === 0 && (byte === COMMA || (byte as number) <= 0x20)) return at
  }
  return json.length
}
