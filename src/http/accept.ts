// Which of two forms a client would rather have (RFC 9110, section 12.5.1).

/** True only where `type` is wanted more than `other`: who does not say, gets the other. */
export function prefers(accept: string | undefined, type: string, other: string): boolean {
  if (accept === undefined) return false
  const ranges = accept.split(',').map(readRange)
  return qualityOf(type, ranges) > qualityOf(other, ranges)
}

interface Range {
  range: string
  quality: number
}

function readRange(text: string): Range {
  const [range = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const [, quality = '1'] = parameters.map((parameter) => /^q=(\S+)$/.exec(parameter)).find((match) => match) ?? []
  return { range, quality: Math.min(1, Math.max(0, Number(quality) || 0)) }
}

/** What names the type most closely decides. */
function qualityOf(type: string, ranges: readonly Range[]): number {
  const [family] = type.split('/')
  for (const named of [type, `${family}/*`, '*/*']) {
    const found = ranges.find(({ range }) => range === named)
    if (found) return found.quality
  }
  return 0
}
