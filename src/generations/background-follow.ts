// The events of a background response, from a number on: those that are there, and those that come. Whoever reads them
// may come again, from where it was.
import type { FastifyReply } from 'fastify'
import { drained } from '../core/drained.ts'
import { Refusal } from '../core/refusal.ts'
import type { Named } from '../responses/background-events-store.ts'
import { isLast, isOver, lastEvent } from '../responses/background-response.ts'
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
  let told: string | undefined
  let look_ms = LOOK_MS
  for (let silent_ms = 0; !raw.destroyed; ) {
    // The state is read first: what was written before it was over is there then.
    const status = await store.statusOf(followed)
    const events = await store.eventsAfter(followed, last)
    for (const [number, text] of events) {
      if (raw.destroyed) return // nothing more drains
      last = number
      told = text
      if (!raw.write(text)) await drained(raw)
    }
    if (events.length > 0) {
      silent_ms = 0
      look_ms = LOOK_MS
      continue
    }
    if (status === undefined || isOver(status)) return tellEnd(store, followed, { last, told }, raw)
    await pause(raw, look_ms)
    silent_ms += look_ms
    look_ms = Math.min(look_ms * 2, LOOK_MOST_MS)
    if (silent_ms < SIGN_MS) continue
    silent_ms = 0
    raw.write(': waiting\n\n')
  }
}

interface Told {
  /** The number behind which nothing is kept. */
  last: number
  /** The event of that number, where it was told here. */
  told: string | undefined
}

/**
 * §10.2: what came to nothing never looks complete. A run that was refused, stopped or broken off has told no last
 * event: the row says how it ended. Whoever comes again may be told so twice, and never not at all.
 */
async function tellEnd(
  store: BackgroundStore,
  { project_id, id }: Named,
  { last, told }: Told,
  raw: FastifyReply['raw'],
): Promise<void> {
  const row = await store.find(project_id, id)
  if (row?.status !== 'failed' && row?.status !== 'cancelled') return
  const seen = told ?? (await keptAt(store, { project_id, id }, last))
  if (seen !== undefined && (await isLast(seen))) return
  if (!raw.destroyed) raw.write(lastEvent(row, last + 1))
}

async function keptAt(store: BackgroundStore, named: Named, number: number): Promise<string | undefined> {
  const [kept] = await store.eventsAfter(named, number - 1)
  return kept?.[0] === number ? kept[1] : undefined
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
