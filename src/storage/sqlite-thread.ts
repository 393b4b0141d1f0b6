// The embedded store's second thread: what would keep the event loop waiting runs there, on a connection of its own.
// One thread serves every store of the process. It is started when it is first needed, and again where it ended; with
// nothing to do it ends after a while, as it takes some fifteen megabytes.
// It is handed one task at a time, so that here it can still be said whose turn is next: what a call or a writer waits
// for goes before lists and sums, however many of those wait already; but of nine tasks one is theirs. A task that has
// begun is not interrupted: whoever may have much to read does it in statements of some thousand rows each.
import { Worker } from 'node:worker_threads'
import { SECOND_MS } from '../core/clock.ts'
import { ownFile } from '../core/own-files.ts'
import type { Scrubbed, Sql } from './db.ts'
import type { Lists } from './sqlite-connection.ts'

interface Task {
  asked: object
  resolve(result: unknown): void
  reject(error: unknown): void
}

interface Reply {
  result?: unknown
  error?: unknown
}

const IDLE_MS = 10 * SECOND_MS
const FIRST_IN_A_ROW_MAX = 8

let thread: Worker | undefined
let idle: NodeJS.Timeout | undefined
let under_way: Task | undefined
/** What a call or a writer waits for, and the others: each in the order in which they came. */
const first: Task[] = []
const others: Task[] = []
let first_in_a_row = 0

function start(): Worker {
  const started = new Worker(ownFile('storage/sqlite-thread.mjs'), { execArgv: [] })
  started.on('message', ({ result, error }: Reply) => {
    if (thread !== started) return
    const done = under_way
    under_way = undefined
    handOverNext()
    if (error) done?.reject(error)
    else done?.resolve(result)
  })
  started.on('error', (error) => end(started, error))
  started.on('exit', () => end(started, new Error('The thread of the store has ended.')))
  return started
}

function handOverNext(): void {
  if (under_way) return
  under_way = nextTask()
  if (!under_way) {
    if (thread) rest(thread)
    return
  }
  try {
    thread ??= start()
    thread.ref()
    thread.postMessage(under_way.asked)
  } catch (error) {
    under_way.reject(error)
    under_way = undefined
    handOverNext()
  }
}

function nextTask(): Task | undefined {
  const is_of_first = first.length > 0 && (others.length === 0 || first_in_a_row < FIRST_IN_A_ROW_MAX)
  first_in_a_row = is_of_first ? first_in_a_row + 1 : 0
  return (is_of_first ? first : others).shift()
}

/** A process may end while nobody waits. */
function rest(resting: Worker): void {
  resting.unref()
  clearTimeout(idle)
  idle = setTimeout(() => {
    if (thread !== resting || under_way) return
    thread = undefined // whoever comes now has another one
    resting.postMessage({ task: 'end' })
  }, IDLE_MS).unref()
}

function end(ended: Worker, error: unknown): void {
  if (thread !== ended) return
  thread = undefined
  const all = [under_way, ...first.splice(0), ...others.splice(0)]
  under_way = undefined
  for (const task of all) task?.reject(error)
}

function ask<T>(queue: Task[], asked: object): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    queue.push({ asked, resolve: resolve as Task['resolve'], reject })
    handOverNext()
  })
}

export type SqliteThread = ReturnType<typeof sqliteThread>

export function sqliteThread(path: string, pragmas: Record<string, string | number>) {
  let used = false
  const askFor = <T>(queue: Task[], task: object): Promise<T> => {
    used = true
    return ask<T>(queue, { ...task, path, pragmas })
  }
  return {
    read: ({ text, values, first: goes_first }: Sql) =>
      askFor<Lists>(goes_first ? first : others, { task: 'read', text: text.join('?'), values }),
    /** Brings what is committed by now from the log into the file. Returns how many pages the log has. */
    checkpoint: () => askFor<number>(first, { task: 'checkpoint' }),
    /** The whole file anew, of at most so many bytes, and the log empty; a larger file is only checkpointed. */
    rewrite: (most_bytes: number) => askFor<Scrubbed>(first, { task: 'rewrite', most_bytes }),
    /** Behind all that was asked before. */
    close: async () => void (used && thread && (await ask(others, { task: 'close', path }))),
  }
}
