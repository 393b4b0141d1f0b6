// Runs background responses: each is a call of this process to itself, in the name of its key, with an idempotency key
// of its own. So it takes holds, limits and slots like any call, and is charged once, however often a run has to begin
// again. Any replica runs what nobody else has the lease of.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Clock } from '../core/clock.ts'
import { randomBase62 } from '../core/ids.ts'
import { jsonOrNone } from '../core/json-bytes.ts'
import { KEY_HEADER } from '../idempotency/idempotency.ts'
import { endOf, failedWith, type ToldEvent, ToldEvents } from '../responses/background-response.ts'
import type { BackgroundRow, BackgroundStore, Ended } from '../responses/background-store.ts'
import type { CallTimer } from './call-timer.ts'

const RUNNING_MAX = 128 // of this process; the store sees to it that no project has more than a few of them
const LOOK_MS = 1_000
const AGAIN_MS = 10_000
const ATTEMPTS_MAX = 20
const FLUSH_CHARACTERS = 64 * 1024
const FLUSH_MS = 200 // whoever follows looks no more often
const CLOSED = 'FST_ERR_REOPENED_CLOSE_SERVER' // what Fastify answers whoever injects while it closes

/** How a run speaks to the service. */
export interface Speaking {
  app: FastifyInstance
  /** A secret of the moment that speaks for a key, for as long as that key works. */
  lend(project_id: string, key_id: string): { secret: string; end(): void }
}

interface Run {
  row: BackgroundRow
  owner: string
  timer: Pick<CallTimer, 'clientLeft'> | undefined
  is_stopped: boolean
  /** Another has it now: that one tells of it, and is stopped where it is cancelled. */
  is_lost: boolean
  trace_id: string | undefined
}

interface Refused {
  statusCode: number
  headers: Readonly<Record<string, unknown>>
  stream(): AsyncIterable<Buffer | string>
}

interface Needs {
  store: BackgroundStore
  clock: Clock
  onFailure(error: unknown): void
}

export type BackgroundJobs = ReturnType<typeof backgroundJobs>

export function backgroundJobs({ store, clock, onFailure }: Needs) {
  /** By the secret that each run speaks with. */
  const runs = new Map<string, Run>()
  const ended = new Set<Promise<void>>()
  let speaking: Speaking | undefined

  async function run({ app, lend }: Speaking, row: BackgroundRow, owner: string): Promise<void> {
    const lent = lend(row.project_id, row.key_id)
    const one: Run = { row, owner, timer: undefined, is_stopped: false, is_lost: false, trace_id: undefined }
    runs.set(lent.secret, one)
    const look = setInterval(() => void renew(one).catch(onFailure), LOOK_MS)
    try {
      await store.forgetEvents(row, owner)
      const asked = app.inject({
        method: 'POST',
        url: '/v1/responses',
        headers: {
          ...row.work?.headers,
          'content-type': 'application/json',
          authorization: `Bearer ${lent.secret}`,
          [KEY_HEADER]: row.work?.run_key ?? `background:${row.id}`, // of before there were such keys
        },
        payload: row.work?.body ?? '',
        payloadAsStream: true,
      })
      const answer = await asked.catch((error) => unasked(one, error))
      if (!answer) return
      one.trace_id = answer.headers['agent-trace-id'] as string | undefined
      await (answer.statusCode === 200 ? follow(one, answer.stream()) : refused(one, answer))
    } finally {
      clearInterval(look)
      runs.delete(lent.secret)
      lent.end()
    }
  }

  /** Not even a refusal came. One that closes does not speak to itself any more: somebody else may, at once. */
  async function unasked(one: Run, error: unknown): Promise<undefined> {
    const is_closed = (error as { code?: string }).code === CLOSED
    if (is_closed) close()
    else onFailure(error)
    const { row, owner } = one
    await (is_closed ? store.giveBack(row, owner, clock.now()) : again(one, FAULT, false))
    return undefined
  }

  /**
   * R74: a key that was revoked meanwhile stops it; so does whoever cancelled or deleted it. R22: one that another has
   * taken over runs to its end, where the kept answer decides who is charged: to stop it were to be charged twice.
   */
  async function renew(one: Run): Promise<void> {
    const { row, owner } = one
    if (one.is_lost || one.is_stopped) return
    const state = await store.renew(row, owner, clock.now())
    if (state === 'lost' && !one.is_stopped) one.is_lost = true
    if (state === 'runs' || one.is_lost) return
    one.is_stopped = true
    try {
      if (state === 'revoked') await end(one, { status: 'failed', response: failedWith(row.response, REVOKED) })
    } finally {
      stop(one) // where that could not be written: whoever runs it once its lease is over, is refused, and writes it
    }
  }

  async function follow(one: Run, stream: AsyncIterable<Buffer | string>): Promise<void> {
    const told = new ToldEvents()
    const writing = eventsWriter((events) => store.addEvents(one.row, one.owner, events, one.trace_id))
    let last: ToldEvent | undefined
    try {
      for await (const part of stream) {
        if (one.is_lost) continue // read on all the same: who does not read is taken to have left
        for await (const event of told.read(Buffer.from(part))) {
          last = event
          await writing.add(event)
        }
      }
    } finally {
      await writing.end()
    }
    if (one.is_lost) return
    const status = last && endOf(last)
    if (status && last?.response) return end(one, { status, response: { ...last.response, background: true } })
    if (one.is_stopped) return
    await again(one, last?.error ?? BROKE_OFF, status === 'failed')
  }

  async function refused(one: Run, { statusCode: status, headers, stream }: Refused): Promise<void> {
    let text = ''
    for await (const part of stream()) text += part
    const error = (jsonOrNone(text) as { error?: { code?: string; type?: string; message?: string } })?.error
    const told = { code: error?.code ?? error?.type ?? 'server_error', message: error?.message ?? `status ${status}` }
    const may_pass = status >= 500 || status === 409 || told.code === 'rate_limit_exceeded'
    await again(one, told, !may_pass || headers['x-should-retry'] === 'false') // R45
  }

  /** What may pass is tried again, so many times. */
  async function again(one: Run, error: { code: string; message: string }, is_final: boolean): Promise<void> {
    const { row, owner } = one
    if (!is_final && row.attempts < ATTEMPTS_MAX) return store.putBack(row, owner, clock.now() + AGAIN_MS)
    await end(one, { status: 'failed', response: failedWith(row.response, error) })
  }

  const end = ({ row, owner, trace_id }: Run, ended: Omit<Ended, 'trace_id'>) =>
    store.finish(row, owner, { ...ended, trace_id }, clock.now()).then(() => {})

  /** As where a client has left: what was produced is paid for, by the count that the upstream tells at the end. */
  function stop(one: Run): void {
    if (one.is_lost) return
    one.is_stopped = true
    one.timer?.clientLeft()
  }

  async function beginAll(): Promise<void> {
    while (speaking && runs.size < RUNNING_MAX) {
      const owner = randomBase62(24)
      const row = await store.claim(owner, clock.now())
      if (!row) return
      if (!speaking) return store.giveBack(row, owner, clock.now()) // closed meanwhile
      void counted(run(speaking, row, owner).catch(onFailure))
    }
  }

  function close(): void {
    speaking = undefined
  }

  /** Until it has ended. */
  function counted(work: Promise<void>): Promise<void> {
    const counting = work.finally(() => void ended.delete(counting))
    ended.add(counting)
    return counting
  }

  return {
    now: clock.now,

    /** Once, when there is something to speak to. */
    speakThrough(through: Speaking): void {
      speaking = through
    },

    /** Which run a request is of; undefined where it is nobody's. */
    of({ headers }: FastifyRequest): { response_id: string } | undefined {
      if (runs.size === 0) return undefined
      const run = runs.get(String(headers.authorization).slice('Bearer '.length))
      return run && { response_id: run.row.id }
    },

    /** The generation of a run has begun: from here on it can be stopped. */
    begun({ headers }: FastifyRequest, timer: Run['timer']): void {
      const run = runs.get(String(headers.authorization).slice('Bearer '.length))
      if (!run) return
      run.timer = timer
      if (run.is_stopped) stop(run)
    },

    /** Here, at once; elsewhere, within a second. */
    stopped(id: string): void {
      for (const one of runs.values()) if (one.row.id === id) stop(one)
    },

    /** Begins what waits, as far as there is room. */
    turn: (): Promise<void> => counted(beginAll()),

    /** Begins no more. What runs goes on. */
    close,

    /** Resolves once none runs here. */
    async idle(): Promise<void> {
      while (ended.size > 0) await Promise.allSettled(ended)
    },
  }
}

/** Several events in one row, in their order: no row is written before the one before it is there. */
function eventsWriter(write: (events: readonly ToldEvent[]) => Promise<void>) {
  let waiting: ToldEvent[] = []
  let characters = 0
  let written = Promise.resolve()
  const flush = (): Promise<void> => {
    if (waiting.length === 0) return written
    const events = waiting
    waiting = []
    characters = 0
    written = written.then(() => write(events))
    written.catch(() => {}) // whoever adds or ends hears of it
    return written
  }
  const timer = setInterval(() => void flush(), FLUSH_MS)
  return {
    /** Waits where much is waiting to be written. */
    add(event: ToldEvent): Promise<void> | undefined {
      waiting.push(event)
      characters += event.text.length
      return characters > FLUSH_CHARACTERS ? flush() : undefined
    },
    end(): Promise<void> {
      clearInterval(timer)
      return flush()
    },
  }
}

const BROKE_OFF = { code: 'server_error', message: 'The upstream broke off.' }
const FAULT = { code: 'server_error', message: 'This server failed at it; its log says why.' }
const REVOKED = { code: 'invalid_api_key', message: 'The key that asked for this response does not work any more.' }
