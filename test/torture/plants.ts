// Known bugs, put into the real server by the harness: a gate that does not catch its own is no gate. None of them
// exists in the service itself; most wrap the store that the service opened.
import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { type OpenDb, type Sql, sql, type Tx } from '../../src/storage/db.ts'
import { overtaking, toldLater } from './event-plants.ts'
import { chargedAgain, holdKept, orphansStay } from './money-plants.ts'
import { deafToProviders, swapCloses } from './provider-plants.ts'
import { deaf, upstreamKept } from './stream-plants.ts'

export interface Planted {
  meaning: string
  wrap?(db: OpenDb): OpenDb
  /** For a bug that does not lie in the store. */
  install?(): void | Promise<void>
}

export const PLANTS = {
  'non-atomic': {
    meaning: 'The effect and the keeping of its answer are two commits instead of one.',
    wrap: nonAtomic,
  },
  'check-then-act': {
    meaning: 'A request that found its triple free trusts that, however long ago it looked.',
    wrap: checkThenAct,
  },
  'abort-bound': {
    meaning: 'An answer is kept only while its client is still connected.',
    wrap: abortBound,
  },
  'leaked-hold': {
    meaning: 'One request in forty leaves its triple reserved behind it.',
    wrap: leakedHold,
  },
  'hold-kept': {
    meaning: 'A charge reads its hold, and leaves it where it is.',
    wrap: holdKept,
  },
  'charged-again': {
    meaning: 'A retry with the same key is executed and charged as if it were new.',
    wrap: chargedAgain,
  },
  'orphans-stay': {
    meaning: 'What a killed server held is never given back.',
    wrap: orphansStay,
  },
  'told-later': {
    meaning: 'That an event is to be told is written down after what it tells of has committed.',
    wrap: toldLater,
  },
  overtaking: {
    meaning: 'What failed waits for its next attempt, and what came after it of the same subject does not.',
    wrap: overtaking,
  },
  deaf: {
    meaning: 'Nobody hears that a client has left: its stream stays open, and so does its lease.',
    install: deaf,
  },
  'upstream-kept': {
    meaning: 'The upstream is not let go of when its client leaves.',
    install: upstreamKept,
  },
  'auth-cache': {
    meaning: 'Whoever a key speaks for is remembered for 5 s, and only time ends that.',
    wrap: authCache,
  },
  'silent-changes': {
    meaning: 'The embedded store tells nobody that a key has changed.',
    wrap: (db) => ({ ...db, ...(db.watch && { watch: () => {} }) }),
  },
  unfenced: {
    meaning: 'A handler keeps its answer without asking whether the reservation is still its own.',
    wrap: unfenced,
  },
  'deaf-to-providers': {
    meaning: 'A server does not hear that providers were changed.',
    wrap: deafToProviders,
  },
  'swap-closes': {
    meaning: 'Taking over changed providers closes connections that calls are using.',
    wrap: swapCloses,
  },
  'abrupt-stop': {
    meaning: 'SIGTERM ends the process at once.',
    wrap: abruptStop,
  },
  'leaves-at-once': {
    meaning: 'A worker whose place was taken ends at once.',
    install: leavesAtOnce,
  },
} satisfies Record<string, Planted>

export type Plant = keyof typeof PLANTS

const looksUp = ({ text }: Sql) => /^\s*SELECT.*FROM idempotency/s.test(text[0] ?? '')
const keeps = ({ text }: Sql) => /^\s*INSERT INTO idempotency/.test(text[0] ?? '')

/** A window of this length makes a race of microseconds show within seconds. */
const WINDOW_MS = 10

function nonAtomic(db: OpenDb): OpenDb {
  const tx: Tx = {
    rows: db.rows,
    transaction: (work) => work(tx),
    tryLock: async () => true,
    last: async (statement) => void (await db.rows(statement)),
  }
  return { ...db, transaction: (work) => work(tx) }
}

function checkThenAct(db: OpenDb): OpenDb {
  const trusting = (tx: Tx) =>
    withRows(tx, async <Row>(statement: Sql) => {
      if (looksUp(statement)) return []
      // The last writer wins, as it would in a cache.
      if (keeps(statement)) await tx.rows(sql`DELETE FROM idempotency WHERE digest = ${statement.values[0] ?? null}`)
      return tx.rows<Row>(statement)
    })
  return {
    ...db,
    async rows<Row>(statement: Sql) {
      const seen = await db.rows<Row>(statement)
      if (looksUp(statement)) await sleep(Math.random() * WINDOW_MS)
      return seen
    },
    transaction: (work) => db.transaction((tx) => work(trusting(tx))),
  }
}

function abortBound(db: OpenDb): OpenDb {
  const requests = new AsyncLocalStorage<IncomingMessage>()
  subscribe('http.server.request.start', (message) =>
    requests.enterWith((message as { request: IncomingMessage }).request),
  )
  return {
    ...db,
    async transaction(work) {
      const request = requests.getStore() // commits are shared, so inside the context may be another request's
      await sleep(Math.random() * WINDOW_MS)
      const unlessAborted = (tx: Tx) =>
        withRows(tx, async <Row>(statement: Sql) =>
          keeps(statement) && request?.socket.destroyed ? [{} as Row] : tx.rows<Row>(statement),
        )
      return db.transaction((tx) => work(unlessAborted(tx)))
    },
  }
}

function leakedHold(db: OpenDb): OpenDb {
  let kept = 0
  const leaking = (tx: Tx) =>
    withRows(tx, <Row>(statement: Sql): Promise<Row[]> => {
      if (!keeps(statement) || ++kept % 40 !== 0) return tx.rows<Row>(statement)
      return tx.rows<Row>(sql`
        INSERT INTO idempotency (digest, state, owner, process, expires_at)
        VALUES (${statement.values[0] ?? null}, 'held', 'nobody', 'nobody', ${Date.now() + 60_000}) RETURNING digest`)
    })
  return { ...db, transaction: (work) => db.transaction((tx) => work(leaking(tx))) }
}

const CACHE_MS = 5_000

function authCache(db: OpenDb): OpenDb {
  const seen = new Map<string, { rows: unknown[]; until_ms: number }>()
  return {
    ...db,
    async rows<Row>(statement: Sql) {
      if (!/FROM api_key k JOIN project p/.test(statement.text[0] ?? '')) return db.rows<Row>(statement)
      const hash = String(statement.values[0])
      const known = seen.get(hash)
      if (known && known.until_ms > performance.now()) return known.rows as Row[]
      const rows = await db.rows<Row>(statement)
      seen.set(hash, { rows, until_ms: performance.now() + CACHE_MS })
      return rows
    },
  }
}

function unfenced(db: OpenDb): OpenDb {
  const trusting = (tx: Tx) =>
    withRows(tx, <Row>(statement: Sql): Promise<Row[]> => {
      if (!/^\s*UPDATE idempotency\s+SET state = 'kept'/.test(statement.text[0] ?? '')) return tx.rows<Row>(statement)
      const [sealed = null, bytes = null, expires_at = null] = statement.values
      const digest = statement.values.at(-2) ?? null
      return tx.rows<Row>(sql`
        UPDATE idempotency SET state = 'kept', sealed = ${sealed}, bytes = ${bytes}, expires_at = ${expires_at}
        WHERE digest = ${digest} RETURNING digest`)
    })
  return { ...db, transaction: (work) => db.transaction((tx) => work(trusting(tx))) }
}

function abruptStop(db: OpenDb): OpenDb {
  process.prependListener('SIGTERM', () => process.exit(0))
  return db
}

function leavesAtOnce(): void {
  process.on('message', ({ kind }: { kind?: string }) => kind === 'leave' && process.exit(0))
}

function withRows(tx: Tx, rows: Tx['rows']): Tx {
  const wrapped: Tx = { ...tx, rows, transaction: (work) => work(wrapped) }
  return wrapped
}
