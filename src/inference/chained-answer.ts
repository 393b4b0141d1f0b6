// An upstream with a Responses API of its own gets a chain expanded, so it knows of no response before this one. Its
// answer says what the client asked for all the same: `previous_response_id` is set in the bytes, whole or in each
// event that has the response in it, and nothing else is touched.
import { GatheredParts } from '../core/gathered-parts.ts'
import { jsonOrNone } from '../core/json-bytes.ts'
import { type Provider, type ProviderAnswer, UpstreamError } from '../providers/provider.ts'
import { isObject } from '../responses/response-request.ts'
import { spanOf, spliceFields } from './json-splice.ts'
import { EVENT_MAX_BYTES } from './sse-frames.ts'

export function chainedAnswer(provider: Provider, previous_response_id: string): Provider {
  return {
    speaks: (kind) => provider.speaks(kind),
    async call(call, signal) {
      const answer = await provider.call(call, signal)
      if (call.kind !== 'responses' || answer.status !== 200) return answer
      return call.stream ? streamed(answer, previous_response_id) : whole(answer, previous_response_id)
    },
  }
}

function whole(answer: ProviderAnswer, previous_response_id: string): ProviderAnswer {
  const spliced = async () => withPrevious(await answer.whole(), previous_response_id)
  return { ...answer, whole: spliced, each: async (take) => take(await spliced()) }
}

/** What is no JSON object is for others to judge, as it came. */
function withPrevious(bytes: Buffer, previous_response_id: string): Buffer {
  const json = jsonOrNone(bytes)
  return isObject(json) ? spliceFields({ bytes, json }, { previous_response_id }) : bytes
}

const LF = 0x0a
const DATA = Buffer.from('data:')
const RESPONSE = '"response"' // inside a string its quotes would be escaped

function streamed(answer: ProviderAnswer, previous_response_id: string): ProviderAnswer {
  const rest = new GatheredParts() // a line whose end has not come yet
  const spliced = (bytes: Buffer) =>
    bytes.includes(RESPONSE)
      ? Buffer.concat([...lines(bytes)].map((line) => lineWith(line, previous_response_id)))
      : bytes
  return {
    ...answer,
    async each(take) {
      await answer.each((part) => {
        const end = part.lastIndexOf(LF) + 1
        rest.add(part.subarray(0, end))
        const whole = end > 0 ? rest.take() : []
        rest.add(part.subarray(end))
        if (rest.bytes > EVENT_MAX_BYTES) throw new UpstreamError('too_large')
        return take(spliced(whole.length === 1 ? (whole[0] as Buffer) : Buffer.concat(whole)))
      })
      if (rest.bytes > 0) await take(spliced(Buffer.concat(rest.take())))
    },
  }
}

function* lines(bytes: Buffer): Generator<Buffer> {
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(LF, from) + 1 || bytes.length
    yield bytes.subarray(from, end)
    from = end
  }
}

/** An event's data is one line of JSON; one that is written over several goes on as it came. */
function lineWith(line: Buffer, previous_response_id: string): Buffer {
  if (!line.subarray(0, DATA.length).equals(DATA) || !line.includes(RESPONSE)) return line
  const data = line.subarray(DATA.length)
  const event = jsonOrNone(data)
  const span = isObject(event) && isObject(event.response) ? spanOf(data, 'response') : undefined
  if (!span) return line
  const { start, end } = span
  return Buffer.concat([
    DATA,
    data.subarray(0, start),
    withPrevious(data.subarray(start, end), previous_response_id),
    data.subarray(end),
  ])
}
