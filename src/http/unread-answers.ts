// R78: answers that their clients do not read. Each lies in memory until it is taken, and whoever has a cluster of
// their own can have as many of them made as they like. So those of one project are bounded, and those of all: beyond
// it the oldest makes room for the next, and one of which nothing is taken ends after a minute.
import type { ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Caller } from '../core/caller.ts'

export interface UnreadBounds {
  bytes: number
  bytes_of_one: number
  /** With nothing taken. */
  stalled_ms: number
}

const MIB = 2 ** 20
const STALLED_MS = 60_000
export const UNREAD: UnreadBounds = { bytes: 512 * MIB, bytes_of_one: 128 * MIB, stalled_ms: STALLED_MS }

/** Smaller ones fit into what the system itself keeps for a connection. */
const COUNTED_FROM_BYTES = 64 * 1024

interface Unread {
  bytes: number
  response: ServerResponse
}

/** Of one project, the oldest first. */
interface Waiting {
  bytes: number
  answers: Set<Unread>
}

/** A client that reads nothing for this long is disconnected. */
export function endWhereStalled(response: ServerResponse, stalled_ms = STALLED_MS): void {
  response.setTimeout(stalled_ms, () => response.destroy())
}

export function unreadAnswers({ bytes: most, bytes_of_one, stalled_ms }: UnreadBounds) {
  const projects = new Map<string, Waiting>()
  let taken = 0

  function forget(project_id: string, answer: Unread): void {
    const waiting = projects.get(project_id)
    if (!waiting?.answers.delete(answer)) return
    taken -= answer.bytes
    waiting.bytes -= answer.bytes
    if (waiting.answers.size === 0) projects.delete(project_id)
  }

  function endOldest(project_id: string, { answers }: Waiting): void {
    const [oldest] = answers
    if (!oldest) return
    forget(project_id, oldest)
    oldest.response.destroy()
  }

  /** The project that has the most of them. */
  function largest(): [string, Waiting] | undefined {
    let found: [string, Waiting] | undefined
    for (const one of projects) if (!found || one[1].bytes > found[1].bytes) found = one
    return found
  }

  return {
    taken: () => taken,

    /** From when it is sent. */
    add(project_id: string, response: ServerResponse, bytes: number): void {
      const answer: Unread = { bytes, response }
      const waiting = projects.get(project_id) ?? { bytes: 0, answers: new Set() }
      projects.set(project_id, waiting)
      waiting.answers.add(answer)
      waiting.bytes += bytes
      taken += bytes
      const over = () => forget(project_id, answer)
      response.once('finish', over).once('close', over)
      endWhereStalled(response, stalled_ms)
      while (waiting.bytes > bytes_of_one && waiting.answers.size > 1) endOldest(project_id, waiting)
      for (let full = largest(); taken > most && full; full = largest()) endOldest(...full)
    },
  }
}

export function boundUnread(app: FastifyInstance, bounds: UnreadBounds = UNREAD): void {
  const unread = unreadAnswers(bounds)
  app.addHook('onSend', (request, { raw }, payload, done) => {
    const bytes = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload.length : 0
    const caller: Caller | undefined = request.caller
    if (bytes > COUNTED_FROM_BYTES && isSentOver(raw)) unread.add(caller?.project_id ?? '', raw, bytes)
    done(null, payload)
  })
}

/** A connection: the service also asks itself, and takes what it is answered. Without one, it is not its turn yet. */
const isSentOver = ({ socket }: ServerResponse) => socket === null || socket instanceof Socket
