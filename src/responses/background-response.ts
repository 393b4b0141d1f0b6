// A response that nobody waits for: what it is called at every stage, and what its events tell of it. Pure.
import { Refusal } from '../core/refusal.ts'
import { openedResponse, type ResponseIds } from './response-object.ts'
import { isObject, type Json, type ResponseRequest, wrong } from './response-request.ts'

export const OPEN_MAX = 100 // of one project at a time
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

export const failedWith = (response: Json, error: { code: string; message: string }): Json => ({
  ...response,
  status: 'failed',
  error,
})

export const tooManyOpen = () =>
  new Refusal(
    'quota_exceeded',
    `This project has as many background responses under way as it may have (${OPEN_MAX}). Wait for one to end.`,
    { headers: { 'x-should-retry': 'false' } },
  )

export interface ToldEvent {
  number: number
  /** As it is sent: its lines, and the blank one. */
  text: string
  type: string
  response: Json | undefined
}

/** Takes what comes, and gives whole events. One without a number follows the one before. */
export class EventReader {
  #rest = ''
  #next = 0

  push(text: string): ToldEvent[] {
    this.#rest += text
    const events: ToldEvent[] = []
    for (let end = this.#rest.indexOf('\n\n'); end !== -1; end = this.#rest.indexOf('\n\n')) {
      const event = this.#read(this.#rest.slice(0, end + 2))
      this.#rest = this.#rest.slice(end + 2)
      if (event) events.push(event)
    }
    return events
  }

  #read(text: string): ToldEvent | undefined {
    const line = text.split('\n').find((one) => one.startsWith('data:'))
    const data = line === undefined ? undefined : parsed(line.slice('data:'.length))
    if (!data) return undefined // a comment, or nothing that a client would know
    const number = typeof data.sequence_number === 'number' ? data.sequence_number : this.#next
    this.#next = number + 1
    const response = isObject(data.response) ? data.response : undefined
    return { number, text, type: String(data.type ?? ''), response }
  }
}

function parsed(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

const ENDS: Readonly<Record<string, BackgroundStatus>> = {
  'response.completed': 'completed',
  'response.incomplete': 'incomplete',
  'response.failed': 'failed',
}

/** Undefined where it goes on. */
export const endOf = ({ type }: ToldEvent): BackgroundStatus | undefined => (type === 'error' ? 'failed' : ENDS[type])
