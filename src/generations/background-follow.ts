// The events of a background response, from a number on: those that are there, and those that come. Whoever reads them
// may come again, from where it was.
import type { FastifyReply } from 'fastify'
import { Refusal } from '../core/refusal.ts'
import { isOver } from '../responses/background-response.ts'
import type { BackgroundStore, Named } from '../responses/background-store.ts'

const LOOK_MS = 250
const SIGN_EVERY = 40 // looks without an event
const READERS_MAX = 100 // of one project, in this process

const readers = new Map<string, number>()

export async function followBackground(store: BackgroundStore, named: Named, after: number, reply: FastifyReply) {
  const { project_id } = named
  const reading = readers.get(project_id) ?? 0
  if (reading >= READERS_MAX)
    throw new Refusal('rate_limited', `At most ${READERS_MAX} streams of background responses are read at a time.`, {
      headers: { 'retry-after': '1' },
    })
  readers.set(project_id, reading + 1)
  try {
    await stream(store, named, after, reply)
  } finally {
    const left = (readers.get(project_id) ?? 1) - 1
    if (left > 0) readers.set(project_id, left)
    else readers.delete(project_id)
  }
}

async function stream(store: BackgroundStore, named: Named, after: number, reply: FastifyReply): Promise<void> {
  const { raw } = reply
  reply.hijack()
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-store',
    'x-accel-buffering': 'no',
  })
  let last = after
  for (let silent = 1; !raw.destroyed; silent++) {
    // The state is read first: what was written before it was over is there then.
    const row = await store.find(named.project_id, named.id)
    const events = await store.eventsAfter(named, last)
    for (const [number, text] of events) {
      last = number
      if (!raw.write(text)) await drained(raw)
    }
    if (events.length > 0) silent = 0
    else if (!row || isOver(row.status)) break
    else if (silent % SIGN_EVERY === 0) raw.write(': waiting\n\n')
    if (events.length === 0) await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
  raw.end()
}

function drained(raw: FastifyReply['raw']): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      raw.off('drain', done).off('close', done)
      resolve()
    }
    raw.once('drain', done).once('close', done)
  })
}
