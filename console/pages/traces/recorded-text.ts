// A recorded text for people: JSON in lines, and so the JSON in each event of a stream; anything else as it is.

const DATA = 'data: '

export function readable(text: string): string {
  const whole = inLines(text)
  if (whole !== undefined) return whole
  if (!/^(data|event|id|:)/.test(text)) return text
  return text
    .split('\n')
    .map((line) =>
      line.startsWith(DATA) ? `${DATA}${inLines(line.slice(DATA.length)) ?? line.slice(DATA.length)}` : line,
    )
    .join('\n')
}

function inLines(text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return undefined
  }
}
