// The embedded store's second thread: what would keep the event loop waiting runs there, on a connection of its own.
// One thread serves every store of the process. It is started when it is first needed, and again where it ended; with
// nothing to do it ends after a while, as it takes some fifteen megabytes.
import { Worker } from 'node:worker_threads'
import { SECOND_MS } from '../core/clock.ts'
import { ownFile } from '../core/own-files.ts'
import type { Scrubbed, SqlValue } from './db.ts'
import type { Lists } from './sqlite-connection.ts'

interface Waiting {
  resolve(result: unknown): void
  reject(error: unknown): void
}

interface Reply {
  id: number
  result?: unknown
  error?: unknown
}

const IDLE_MS = 10 * SECOND_MS

let thread: Worker | undefined
let idle: NodeJS.Timeout | undefined
let last_id = 0
const waiting = new Map<number, Waiting>()

function start(): Worker {
  const started = new Worker(ownFile('storage/sqlite-thread.mjs'), { execArgv: [] })
  started.on('message', ({ id, result, error }: Reply) => {
    const asked = waiting.get(id)
    waiting.delete(id)
    if (waiting.size === 0) rest(started)
    if (error) asked?.reject(error)
    else asked?.resolve(result)
  })
  started.on('error', (error) => end(started, error))
  started.on('exit', () => end(started, new Error('The thread of the store has ended.')))
  return started
}

/** A process may end while nobody waits. */
function rest(resting: Worker): void {
  resting.unref()
  clearTimeout(idle)
  idle = setTimeout(() => {
    if (thread !== resting || waiting.size > 0) return
    thread = undefined // whoever comes now has another one
    resting.postMessage({ task: 'end' })
  }, IDLE_MS).unref()
}

function end(ended: Worker, error: unknown): void {
  if (thread !== ended) return
  thread = undefined
  for (const { reject } of waiting.values()) reject(error)
  waiting.clear()
}

function ask<T>(task: object): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    thread ??= start()
    thread.ref()
    const id = ++last_id
    waiting.set(id, { resolve: resolve as Waiting['resolve'], reject })
    thread.postMessage({ id, ...task })
  })
}

export type SqliteThread = ReturnType<typeof sqliteThread>

export function sqliteThread(path: string, pragmas: Record<string, string | number>) {
  let used = false
  const asked = <T>(task: object): Promise<T> => {
    used = true
    return ask<T>({ ...task, path, pragmas })
  }
  return {
    read: (text: string, values: readonly SqlValue[]) => asked<Lists>({ task: 'read', text, values }),
    /** Brings what is committed by now from the log into the file. Returns how many pages the log has. */
    checkpoint: () => asked<number>({ task: 'checkpoint' }),
    /** The whole file anew, of at most so many bytes, and the log empty; a larger file is only checkpointed. */
    rewrite: (most_bytes: number) => asked<Scrubbed>({ task: 'rewrite', most_bytes }),
    close: async () => void (used && thread && (await ask({ task: 'close', path }))),
  }
}
