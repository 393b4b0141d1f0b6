// A response that nobody waits for: what it is called at every stage, and what its events tell of it. Pure.
import { EventReader } from '../core/event-reader.ts'
import { AT_ONCE_BYTES, BUDGETS, jsonWithinOrNone } from '../core/foreign.ts'
import { jsonOrNone } from '../core/json-bytes.ts'
import { Refusal } from '../core/refusal.ts'
import { keptInput } from './response-items.ts'
import { openedResponse, type ResponseIds } from './response-object.ts'
import { type Item, isObject, type Json, type ResponseRequest, readResponseRequest, wrong } from './response-request.ts'

export const OPEN_MAX = 100 // of one project at a time
const MIB = 1024 * 1024
/** Of one project, of all under way or ended within the hour, with what is told of those that were not made. */
const EVENTS_MAX_MIB = 256
export const BODY_MAX_BYTES = 1024 * 1024

export type BackgroundStatus = 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled'

export const isOver = (status: BackgroundStatus) => status !== 'queued' && status !== 'in_progress'

/** Whether it is asked for; throws where that contradicts something else. */
export function asksForBackground(json: unknown): json is Json {
  if (!isObject(json)) return false
  const { background, store } = json
  if (background !== true) return false
  if (store === false) throw wrong('store', "not be false with 'background': true: the response is read back later")
  return true
}

/** As it is told until it has ended. */
export const queuedResponse = (request: ResponseRequest, ids: ResponseIds): Json => ({
  ...openedResponse(request, ids, {}),
  background: true,
  status: 'queued',
})

/** What went in, as items: of `body`, which is there until it has ended. */
export const askedItems = (response_id: string, body: string | undefined): Item[] =>
  body === undefined ? [] : keptInput(readResponseRequest(JSON.parse(body), 'v1').input, response_id)

export const failedWith = (response: Json, error: { code: string; message: string }): Json => ({
  ...response,
  status: 'failed',
  error,
})

/** What background responses of a project take at the moment. */
export interface Taken {
  open: number
  /** Of events, and of what is told of those that came to nothing. */
  bytes: number
}

/** R78: throws where a project has no room for one more. */
export function assertRoom({ open, bytes }: Taken): void {
  if (open >= OPEN_MAX)
    throw beyond(`background responses under way as it may have (${OPEN_MAX}). Wait for one to end.`)
  if (bytes >= EVENTS_MAX_MIB * MIB)
    throw beyond(
      `MiB of background responses and their events as it may have (${EVENTS_MAX_MIB}). Those that ended count ` +
        'for an hour, or until they are deleted.',
    )
}

const beyond = (what: string) =>
  new Refusal('quota_exceeded', `This project has as many ${what}`, { headers: { 'x-should-retry': 'false' } })

export interface ToldEvent {
  number: number
  /** As it is sent: its lines, and the blank one. */
  text: string
  type: string
  response: Json | undefined
  /** Of an event `error`, which has no response: what a client was told. */
  error?: { code: string; message: string } | undefined
}

/** Whole events out of what comes. One without a number follows the one before. */
export class ToldEvents {
  readonly #reader = new EventReader(BUDGETS.own.bytes) // the last one holds all of the response
  #next = 0

  /** R77: what is large, in steps. */
  async *read(bytes: Buffer): AsyncGenerator<ToldEvent> {
    for (const { event, data } of this.#reader.read(bytes)) {
      const told =
        data.length > AT_ONCE_BYTES ? await jsonWithinOrNone(BUDGETS.own, Buffer.from(data)) : jsonOrNone(data)
      if (!isObject(told)) continue // nothing that a client would know
      const number = isNumber(told.sequence_number, this.#next) ? told.sequence_number : this.#next
      this.#next = number + 1
      const response = isObject(told.response) ? told.response : undefined
      const { type, code, message } = told
      const error = type === 'error' && typeof message === 'string' ? { code: String(code), message } : undefined
      const text = `${event === '' ? '' : `event: ${event}\n`}data: ${data}\n\n`
      yield { number, text, type: String(type ?? ''), response, error }
    }
  }
}

/** An upstream's own; one that goes back, or that nothing could be counted on from, is not taken. */
const isNumber = (value: unknown, least: number): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value < NUMBER_MAX

const NUMBER_MAX = 2 ** 50

const ENDS: Readonly<Record<string, BackgroundStatus>> = {
  'response.completed': 'completed',
  'response.incomplete': 'incomplete',
  'response.failed': 'failed',
}

/** Undefined where it goes on. */
export const endOf = ({ type }: ToldEvent): BackgroundStatus | undefined => (type === 'error' ? 'failed' : ENDS[type])

/** The last event of one that came to nothing: where its run told none, `row` says how it ended. */
export const lastEvent = (
  { response, status }: { response: Json; status: BackgroundStatus },
  number: number,
): string => {
  const event = { type: 'response.failed', sequence_number: number, response: { ...response, status } }
  return `event: response.failed\ndata: ${JSON.stringify(event)}\n\n`
}

/** Whether an event, as it was sent, is the last one. */
export async function isLast(text: string): Promise<boolean> {
  for await (const event of new ToldEvents().read(Buffer.from(text))) if (endOf(event)) return true
  return false
}
