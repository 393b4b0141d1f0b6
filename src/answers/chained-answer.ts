// An upstream with a Responses API of its own gets a chain expanded, so it knows of no response before this one; and it
// does not know what a response is called that was promised before. Its answer says what the client was told all the
// same: `previous_response_id`, or `id`, is set in the bytes, whole or in each event that has the response in it, and
// nothing else is touched.
import { BUDGETS, isLarge, toldBounds } from '../core/foreign.ts'
import { GatheredParts } from '../core/gathered-parts.ts'
import { endOfValue, jsonOrNone, skipSpace } from '../core/json-bytes.ts'
import { Outline } from '../core/json-outline.ts'
import { spanOf, spliceFields } from '../core/json-splice.ts'
import { surveyInSteps } from '../core/json-survey.ts'
import type { Taking } from '../core/memory-room.ts'
import { atOnce, inTurns } from '../core/turns.ts'
import { type Provider, type ProviderAnswer, UpstreamError } from '../providers/provider.ts'
import { isObject } from '../responses/response-request.ts'

/** What a response says in the place of what the upstream wrote there. */
export type Told = Readonly<Record<string, string | boolean>>

export function chainedAnswer(provider: Provider, told: Told): Provider {
  return {
    speaks: (kind) => provider.speaks(kind),
    async call(call, signal) {
      const answer = await provider.call(call, signal)
      if (call.kind !== 'responses' || answer.status !== 200) return answer
      return call.stream ? streamed(answer, told) : whole(answer, told)
    },
  }
}

function whole(answer: ProviderAnswer, told: Told): ProviderAnswer {
  const spliced = async (taking?: Taking) => {
    const bytes = await answer.whole(taking)
    return isLarge(bytes) ? inTurns(withPreviousInSteps(bytes, told)) : withPrevious(bytes, told)
  }
  return { ...answer, whole: spliced, each: async (take) => take(await spliced()) }
}

/** What is no JSON object is for others to judge, as it came. */
function withPrevious(bytes: Buffer, told: Told): Buffer {
  const json = jsonOrNone(bytes)
  return isObject(json) ? spliceFields({ bytes, json }, told) : bytes
}

const [OPEN_BRACE, CLOSE_BRACE] = [0x7b, 0x7d]

/** R77: the same of one that is too large to be parsed at once. `bytes` may go on behind the object. */
function* withPreviousInSteps(bytes: Buffer, told: Told): Generator<void, Buffer> {
  const start = skipSpace(bytes, 0)
  if (bytes[start] !== OPEN_BRACE) return bytes
  const names = Object.keys(told)
  const outline = new Outline(bytes, new Set(names))
  const surveyed = yield* surveyInSteps(BUDGETS.answer, bytes, outline)
  if (surveyed === 'beyond') throw new UpstreamError('too_many_parts', new Error(toldBounds(BUDGETS.answer)))
  const is_empty = bytes[skipSpace(bytes, start + 1)] === CLOSE_BRACE
  const missing = names.filter((name) => outline.at(name) === undefined)
  const added = missing.map((name) => `${JSON.stringify(name)}:${JSON.stringify(told[name])}`).join(',')
  const parts: Buffer[] = [bytes.subarray(0, start + 1), Buffer.from(added && !is_empty ? `${added},` : added)]
  const there = names.flatMap((name) => ({ name, at: outline.at(name) ?? -1 })).filter(({ at }) => at >= 0)
  let from = start + 1
  for (const { name, at } of there.sort((one, other) => one.at - other.at)) {
    parts.push(bytes.subarray(from, at), Buffer.from(JSON.stringify(told[name])))
    from = endOfValue(bytes, at)
  }
  return Buffer.concat([...parts, bytes.subarray(from)])
}

const LF = 0x0a
const DATA = Buffer.from('data:')
const RESPONSE = '"response"' // inside a string its quotes would be escaped

function streamed(answer: ProviderAnswer, told: Told): ProviderAnswer {
  const rest = new GatheredParts() // a line whose end has not come yet
  const spliced = (bytes: Buffer) =>
    bytes.includes(RESPONSE) ? Buffer.concat([...lines(bytes)].map((line) => lineWith(line, told))) : bytes
  return {
    ...answer,
    async each(take) {
      await answer.each((part) => {
        const end = part.lastIndexOf(LF) + 1
        rest.add(part.subarray(0, end))
        const whole = end > 0 ? rest.take() : []
        rest.add(part.subarray(end))
        if (rest.bytes > BUDGETS.event.bytes) throw new UpstreamError('too_large')
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
function lineWith(line: Buffer, told: Told): Buffer {
  if (!line.subarray(0, DATA.length).equals(DATA) || !line.includes(RESPONSE)) return line
  const data = line.subarray(DATA.length)
  if (isLarge(data)) return Buffer.concat([DATA, largeWith(data, told)])
  const event = jsonOrNone(data)
  const span = isObject(event) && isObject(event.response) ? spanOf(data, 'response') : undefined
  if (!span) return line
  const { start, end } = span
  return Buffer.concat([
    DATA,
    data.subarray(0, start),
    withPrevious(data.subarray(start, end), told),
    data.subarray(end),
  ])
}

/** An event has a megabyte at most, over which a survey is quick. */
function largeWith(data: Buffer, told: Told): Buffer {
  const outline = new Outline(data, RESPONSE_ONLY)
  const surveyed = atOnce(surveyInSteps(BUDGETS.event, data, outline))
  if (surveyed === 'beyond') throw new UpstreamError('too_many_parts', new Error(toldBounds(BUDGETS.event)))
  const response = outline.objectAt('response')
  if (!response || surveyed === 'unbalanced') return data
  const before = data.subarray(0, data.length - response.length)
  return Buffer.concat([before, atOnce(withPreviousInSteps(response, told))])
}

const RESPONSE_ONLY: ReadonlySet<string> = new Set(['response'])
