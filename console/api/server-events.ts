// A stream of server-sent events, read as it arrives: each event's data as JSON.
export interface ServerEvents {
  /** Takes what arrived and returns the events that are whole now. */
  push(part: string): unknown[]
}

/** Events end with an empty line; lines may end in any of the three ways, and a part may end anywhere. */
export function serverEvents(): ServerEvents {
  let rest = ''
  return {
    push(part) {
      rest += part
      // A CR at the very end may be half of a CRLF.
      const known = rest.endsWith('\r') ? rest.slice(0, -1) : rest
      const blocks = known.replace(/\r\n?/g, '\n').split('\n\n')
      rest = (blocks.pop() ?? '') + rest.slice(known.length)
      return blocks.flatMap(dataIn)
    },
  }
}

function dataIn(block: string): unknown[] {
  const data = block
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice('data:'.length).trimStart())
    .join('\n')
  return data === '' || data === '[DONE]' ? [] : [JSON.parse(data)]
}
