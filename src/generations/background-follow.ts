// The events of a background response, from a number on: those that are there, and those that come. Whoever reads them
// may come again, from where it was.
import type { FastifyReply } from 'fastify'
import { drained } from '../core/drained.ts'
import { Refusal } from '../core/refusal.ts'
import type { Named } from '../responses/background-events-store.ts'
import { isOver } from '../responses/background-response.ts'
import type { BackgroundStore } from '../responses/background-store.ts'

const LOOK_MS = 250
const LOOK_MOST_MS = 2_000 // of one that is silent
const SIGN_MS = 10_000
const READERS_MAX = 50 // of one project, in this process

export interface Followed extends Named {
  /** The number behind which it is read. */
  after: number
}

export function backgroundFollowers() {
  const readers = new Map<string, number>()
  return async function follow(store: BackgroundStore, followed: Followed, reply: FastifyReply): Promise<void> {
    const { project_id } = followed
    const reading = readers.get(project_id) ?? 0
    if (reading >= READERS_MAX)
      throw new Refusal('rate_limited', `At most ${READERS_MAX} streams of background responses are read at a time.`, {
        headers: { 'retry-after': '1' },
      })
    readers.set(project_id, reading + 1)
    try {
      await stream(store, followed, reply)
    } finally {
      const left = (readers.get(project_id) ?? 1) - 1
      if (left > 0) readers.set(project_id, left)
      else readers.delete(project_id)
    }
  }
}

async function stream(store: BackgroundStore, followed: Followed, reply: FastifyReply): Promise<void> {
  const { raw } = reply
  reply.hijack()
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-store',
    'x-accel-buffering': 'no',
  })
  try {
    await tellAll(store, followed, raw)
    raw.end()
  } catch (error) {
    raw.destroy() // nobody else would end it: who reads comes again, from where it was
    throw error
  }
}

async function tellAll(store: BackgroundStore, followed: Followed, raw: FastifyReply['raw']): Promise<void> {
  let last = followed.after
  let look_ms = LOOK_MS
  for (let silent_ms = 0; !raw.destroyed; ) {
    // The state is read first: what was written before it was over is there then.
    const status = await store.statusOf(followed)
    const events = await store.eventsAfter(followed, last)
    for (const [number, text] of events) {
      if (raw.destroyed) return // nothing more drains
      last = number
      if (!raw.write(text)) await drained(raw)
    }
    if (events.length > 0) {
      silent_ms = 0
      look_ms = LOOK_MS
      continue
    }
    if (status === undefined || isOver(status)) break
    await pause(raw, look_ms)
    silent_ms += look_ms
    look_ms = Math.min(look_ms * 2, LOOK_MOST_MS)
    if (silent_ms < SIGN_MS) continue
    silent_ms = 0
    raw.write(': waiting\n\n')
  }
}

/** Shorter where the client leaves. */
function pause(raw: FastifyReply['raw'], ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms)
    function done(): void {
      clearTimeout(timer)
      raw.off('close', done)
      resolve()
    }
    raw.once('close', done)
  })
}
