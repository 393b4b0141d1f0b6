// One call on the wire, from waiting for a connection to the last byte of the answer. Whatever goes wrong, the caller
// hears of it exactly once, and the connection is either given back clean or closed.

import type { Socket } from 'node:net'
import { drained } from '../core/drained.ts'
import { BUDGETS, STREAM_MAX_BYTES } from '../core/foreign.ts'
import { GatheredParts } from '../core/gathered-parts.ts'
import type { Taking } from '../core/memory-room.ts'
import type { StopSignal } from '../core/stop-signal.ts'
import type { Connection, Connections, Holder, Waiter } from './connections.ts'
import { Handover } from './handover.ts'
import { type AnswerEvents, type AnswerHead, AnswerParser, TOLD_PREFIX } from './http1-answer.ts'
import {
  type ProviderAnswer,
  type StreamedBody,
  type Timeouts,
  UpstreamError,
  type UpstreamFailure,
} from './provider.ts'

const COPY_MAX_BYTES = 16 * 1024

// Python's usual server closes after 5 s without announcing it. A hint is believed, less the time it may be late by.
const KEEP_ALIVE_MS = 4_000
const KEEP_ALIVE_MARGIN_MS = 1_000
const KEEP_ALIVE_MAX_MS = 60_000

export interface Outgoing {
  head: string
  body: Buffer | undefined
  /** In its place: what is read as it is sent. */
  source?: StreamedBody | undefined
  timeouts: Timeouts
}

export interface Settlers {
  resolve(answer: ProviderAnswer): void
  reject(reason: unknown): void
}

export class Exchange implements Waiter, Holder, AnswerEvents {
  readonly #pool: Connections
  readonly #outgoing: Outgoing
  readonly #signal: StopSignal
  readonly #settlers: Settlers
  readonly #handover: Handover
  readonly #parser: AnswerParser
  #connection: Connection | undefined
  #timer: NodeJS.Timeout | undefined
  #total_timer: NodeJS.Timeout | undefined
  #keep_alive_ms = KEEP_ALIVE_MS
  #bytes = 0
  #has_head = false
  #is_over = false
  #is_sending = false

  constructor(pool: Connections, outgoing: Outgoing, signal: StopSignal, settlers: Settlers) {
    this.#pool = pool
    this.#outgoing = outgoing
    this.#signal = signal
    this.#settlers = settlers
    this.#parser = new AnswerParser(this)
    this.#handover = new Handover({
      pause: () => void (this.#is_over || this.#connection?.socket.pause()),
      resume: () => this.#resume(),
      stop: () => this.#letGo(),
      done: () => this.#signal.removeEventListener('abort', this.#onAbort),
    })
  }

  readonly #onAbort = () => this.#abandon(this.#signal.reason)

  begin(): void {
    this.#signal.addEventListener('abort', this.#onAbort, { once: true })
    this.#pool.take(this)
    if (!this.#is_over) this.#startTimers()
  }

  ready(connection: Connection): void {
    const { head, body, source } = this.#outgoing
    this.#connection = connection
    connection.holder = this
    write(connection.socket, head, body)
    if (source) void this.#pump(connection.socket, source)
  }

  /** No faster than the upstream reads. An answer that comes before all was sent is one like any other. */
  async #pump(socket: Socket, source: StreamedBody): Promise<void> {
    this.#is_sending = true
    try {
      for await (const part of source.parts()) {
        if (this.#is_over) return
        if (!socket.write(part)) await drained(socket)
      }
      this.#is_sending = false
    } catch (error) {
      this.#break('reset', error)
    }
  }

  /** No connection came about, so nothing was sent. */
  failed(error: unknown): void {
    const is_refused = (error as { code?: string }).code === 'ERR_ADDRESS_REFUSED'
    this.#break(is_refused ? 'refused_address' : 'connect', error)
  }

  bytes(bytes: Buffer): void {
    const was_begun = this.#has_head
    try {
      this.#parser.read(bytes)
    } catch (error) {
      this.#break('reset', error)
    }
    if (this.#is_over || !this.#has_head) return
    if (was_begun) this.#timer?.refresh()
    else this.#startIdleTimer()
  }

  closed(error: Error | undefined): void {
    try {
      if (error) throw error
      this.#parser.finish()
    } catch (cause) {
      this.#break('reset', cause)
    }
  }

  head({ status, headers }: AnswerHead): void {
    this.#has_head = true
    this.#keep_alive_ms = keepAlive(headers.get('keep-alive'))
    this.#settlers.resolve({
      status,
      content_type: headers.get('content-type') ?? '',
      retry_after_s: waitOf(headers),
      told: toldIn(headers),
      heard: headers,
      each: (take) => this.#handover.each(take),
      whole: (taking) => whole(this.#handover, taking),
      cancel: () => this.#abandon(new UpstreamError('reset', new Error('cancelled'))),
    })
  }

  part(bytes: Buffer): void {
    this.#bytes += bytes.length
    if (this.#bytes > STREAM_MAX_BYTES) this.#break('too_large')
    else this.#handover.push(bytes)
  }

  end(): void {
    this.#letGo()
    this.#handover.end()
  }

  /** From the beginning, so that waiting for a connection counts, and ends. */
  #startTimers(): void {
    const { first_byte_ms, total_ms } = this.#outgoing.timeouts
    this.#timer = setTimeout(() => this.#tooLate('first_byte_timeout'), first_byte_ms)
    if (total_ms !== undefined) this.#total_timer = setTimeout(() => this.#tooLate('total_timeout'), total_ms)
  }

  #tooLate(failure: UpstreamFailure): void {
    // Whoever has not taken what is there is not waited for, nor does the upstream answer for it.
    if (failure === 'total_timeout' && this.#has_head && this.#handover.is_paused)
      this.#abandon(new UpstreamError('not_taken'))
    else if (this.#connection) this.#break(failure)
    else this.failed(new Error('no connection within the time of the call'))
  }

  #startIdleTimer(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      if (!this.#handover.is_paused) this.#break('idle_timeout') // while paused, it is not the upstream that is slow
    }, this.#outgoing.timeouts.idle_ms)
  }

  #resume(): void {
    if (this.#is_over) return
    this.#timer?.refresh()
    this.#connection?.socket.resume()
  }

  #break(failure: UpstreamFailure, cause?: unknown): void {
    if (this.#is_over) return
    const error = new UpstreamError(failure, cause)
    this.#letGo()
    if (this.#has_head) this.#handover.fail(error)
    else this.#reject(error)
  }

  #abandon(reason: unknown): void {
    this.#letGo()
    this.#handover.abandon(reason)
    if (!this.#has_head) this.#reject(reason)
    this.#signal.removeEventListener('abort', this.#onAbort)
  }

  #reject(reason: unknown): void {
    this.#signal.removeEventListener('abort', this.#onAbort)
    this.#settlers.reject(reason)
  }

  /** The wire is done with: its connection serves the next call if this answer came to a clean end. */
  #letGo(): void {
    if (this.#is_over) return
    this.#is_over = true
    clearTimeout(this.#timer)
    clearTimeout(this.#total_timer)
    if (this.#connection) this.#giveBack(this.#connection)
    else this.#pool.leave(this)
  }

  #giveBack(connection: Connection): void {
    const { socket } = connection
    const is_sent = !this.#is_sending && socket.writableLength === 0
    const is_clean = this.#parser.ended && this.#parser.keeps_alive && is_sent
    this.#parser.stop()
    if (is_clean && this.#handover.is_paused) socket.resume()
    this.#pool.give(connection, is_clean ? this.#keep_alive_ms : 0)
  }
}

/** One write where a copy is cheaper than a second buffer for the system. */
function write(socket: Socket, head: string, body: Buffer | undefined): void {
  if (!body) {
    socket.write(head, 'latin1')
  } else if (body.length <= COPY_MAX_BYTES) {
    const bytes = Buffer.allocUnsafe(head.length + body.length)
    bytes.write(head, 0, 'latin1')
    body.copy(bytes, head.length)
    socket.write(bytes)
  } else {
    socket.cork()
    socket.write(head, 'latin1')
    socket.write(body)
    socket.uncork()
  }
}

async function whole(handover: Handover, taking?: Taking): Promise<Buffer> {
  const gathered = new GatheredParts()
  await handover.each((part) => {
    taking?.take(part.length)
    gathered.add(part)
    if (gathered.bytes > BUDGETS.answer.bytes) throw new UpstreamError('too_large')
  })
  const parts = gathered.take()
  return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
}

function keepAlive(hint: string | undefined): number {
  const seconds = hint && /\btimeout=(\d{1,6})\b/.exec(hint)?.[1]
  if (!seconds) return KEEP_ALIVE_MS
  return Math.min(Number(seconds) * 1_000 - KEEP_ALIVE_MARGIN_MS, KEEP_ALIVE_MAX_MS)
}

/** R81. Most answers have none. */
function toldIn(headers: ReadonlyMap<string, string>): Record<string, string> | undefined {
  let told: Record<string, string> | undefined
  for (const [name, value] of headers) {
    if (!name.startsWith(TOLD_PREFIX)) continue
    told ??= {}
    told[name] = value
  }
  return told
}

/** Retry-After in seconds, or as a date, which is counted from the upstream's own clock. */
function waitOf(headers: ReadonlyMap<string, string>): number | undefined {
  const value = headers.get('retry-after')
  if (value === undefined) return undefined
  if (/^\d{1,9}(\.\d+)?$/.test(value)) return Math.ceil(Number(value))
  const wait_ms = / GMT$/.test(value) ? Date.parse(value) - Date.parse(headers.get('date') ?? '') : Number.NaN
  return Number.isNaN(wait_ms) ? undefined : Math.max(0, Math.ceil(wait_ms / 1_000))
}
