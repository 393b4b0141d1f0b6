// Clustered adapter: many replicas of the service share one PostgreSQL, 15 or later.
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool, type PoolClient, types } from 'pg'
import { CommitUnknown, isRead, type OpenDb, type Sql, sql, type Tx, unavailable } from './db.ts'
import { type Lines, lines } from './postgres-lines.ts'
import { connectTimeout, withoutJit } from './postgres-url.ts'
import { noGuard, type TransactionGuard } from './transaction-guard.ts'

// BIGINT columns hold milliseconds and micro-dollars, all below 2^53.
types.setTypeParser(types.builtins.INT8, Number)

const POOL_MAX = 16
const LINES = 3
const STATEMENT_TIMEOUT_MS = 4_000
const ANSWER_GRACE_MS = 500 // the server should have given up before: after this the connection is thought dead
const CONFLICT_RETRIES = 3
const TURN_FIRST_MS = 5
const TURN_MOST_MS = 100

const PING = sql`SELECT 1`

export interface PostgresOptions {
  guard?: TransactionGuard
  pool_max?: number
  /** How long a statement may take; a migration moves whole tables. */
  statement_timeout_ms?: number
  /** Told of connections that break while idle; the pool replaces them by itself. */
  onIdleError?: (error: Error) => void
}

export function openPostgres(url: string, options: PostgresOptions = {}): OpenDb {
  const { guard = noGuard, pool_max = POOL_MAX, onIdleError = () => {} } = options
  const { statement_timeout_ms = STATEMENT_TIMEOUT_MS } = options
  const settings = {
    connectionString: withoutJit(url),
    connectionTimeoutMillis: connectTimeout(url),
    statement_timeout: statement_timeout_ms,
    idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: statement_timeout_ms + ANSWER_GRACE_MS,
    keepAlive: true,
    // Statements of a transaction that are given at once (`together`) go in one round trip, while it keeps its locks.
    pipeline: true,
    application_name: 'switchyard',
  }
  const pool = new Pool({ ...settings, max: pool_max })
  // Reads by themselves, which every request begins with, do not queue behind transactions that wait for a lock. Writes
  // may wait for one as well, and what is put together for one use may take long: nobody should stand behind them.
  const readers = lines(settings, Math.min(pool_max, LINES), onIdleError)
  // Whether the database answers is asked on a connection of its own, where nobody waits for a turn: a replica that is
  // busy is slow, not away, and were it taken for away, its load would fall on the others until none of them is ready.
  const probes = lines(settings, 1, onIdleError)
  pool.on('error', onIdleError)
  // A connection may break in the very packet that made it ready, before whoever waits for it can listen: an error that
  // nobody hears would end the process. They find it broken with their first statement.
  pool.on('connect', (client) => void client.on('error', () => {}))

  async function once<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const client = await pool.connect().catch(away)
    let broken: Error | undefined
    const onError = (error: Error) => {
      broken = error
    }
    client.on('error', onError)
    try {
      await client.query('BEGIN').catch(away)
      const last: Sql[] = []
      const result = await guard.enter(() => work(transactionOn(client, last)))
      const sent = last.map((statement) => run(client, statement))
      const commit = client.query('COMMIT').catch((error) => {
        broken = error
        throw isAway(error) ? new CommitUnknown(error) : error
      })
      await (sent.length === 0 ? commit : endedWith(sent, commit))
      return result
    } catch (error) {
      if (!broken) await client.query('ROLLBACK').catch((cause) => (broken = cause))
      throw error
    } finally {
      client.off('error', onError)
      client.release(broken) // a broken connection is closed, not handed to the next caller
    }
  }

  /** Asks until it is its turn: who waited in the database would keep a connection from others. */
  async function readAlone<Row>(name: string, statement: Sql): Promise<Row[]> {
    for (let wait_ms = TURN_FIRST_MS; ; wait_ms = Math.min(2 * wait_ms, TURN_MOST_MS)) {
      const rows = await once(async (tx) => ((await tx.tryLock(name)) ? tx.rows<Row>(statement) : undefined))
      if (rows) return rows
      await sleep(wait_ms)
    }
  }

  return {
    engine: 'postgres',
    async rows<Row>(statement: Sql) {
      guard.assertOutside()
      if (statement.alone !== undefined) return readAlone<Row>(statement.alone, statement)
      return run<Row>(isRead(statement) && !statement.once ? readers : pool, statement).catch(away)
    },
    async transaction(work) {
      guard.assertOutside()
      for (let attempt = 1; ; attempt++) {
        try {
          return await once(work)
        } catch (error) {
          if (!isConflict(error)) throw error
          if (attempt > CONFLICT_RETRIES) throw unavailable(error) // nothing happened: whoever can wait tries it later
        }
      }
    },
    ping: async () => void (await run(probes, PING).catch(away)),
    close: async () => void (await Promise.all([pool.end(), readers.close(), probes.close()])),
  }
}

/**
 * What was kept for the end is on its way, with the COMMIT behind it. Where one of it fails, PostgreSQL makes a
 * ROLLBACK of that, so it is the reason; unless it is not known what became of the COMMIT.
 */
async function endedWith(sent: readonly Promise<unknown>[], commit: Promise<unknown>): Promise<void> {
  const [committed, ...outcomes] = await Promise.allSettled([commit, ...sent])
  if (committed?.status === 'rejected') throw committed.reason
  for (const outcome of outcomes) if (outcome.status === 'rejected') away(outcome.reason)
}

/** `last`: what is to be sent with its COMMIT. */
function transactionOn(client: PoolClient, last: Sql[]): Tx {
  const tx: Tx = {
    rows: <Row>(statement: Sql) => run<Row>(client, statement).catch(away),
    transaction: (work) => work(tx),
    async tryLock(name) {
      const lock = createHash('sha256').update(name).digest().readBigInt64BE().toString()
      const { rows } = await client.query('SELECT pg_try_advisory_xact_lock($1::bigint) AS taken', [lock]).catch(away)
      return rows[0].taken
    },
    last: async (statement) => void last.push(statement),
  }
  return tx
}

const prepared = new WeakMap<readonly string[], { name: string; text: string }>()
let preparedCount = 0

const numbered = (text: readonly string[]) => text.reduce((before, after, n) => `${before}$${n}${after}`)

async function run<Row>(on: Pick<Lines, 'query'>, { text, values, once }: Sql): Promise<Row[]> {
  if (once) return (await on.query({ text: numbered(text), values: [...values] })).rows as Row[]
  let statement = prepared.get(text)
  if (!statement) {
    statement = { name: `s${++preparedCount}`, text: numbered(text) }
    prepared.set(text, statement)
  }
  return (await on.query({ ...statement, values: [...values] })).rows as Row[]
}

function away(error: unknown): never {
  throw isAway(error) ? unavailable(error) : error
}

// Sockets, the connection class, resources, time-out, shutdown, and a primary that has become read-only.
const AWAY_CODES = /^(E[A-Z_]+|08...|53...|57P0.|57014|25006)$/
const AWAY_MESSAGES = /timeout|terminated|not queryable|Connection ended/i // pg's own errors carry no code

function isAway(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string }
  return code ? AWAY_CODES.test(code) : AWAY_MESSAGES.test(message ?? '')
}

const isConflict = (error: unknown) => ['40001', '40P01'].includes((error as { code?: string }).code ?? '')
