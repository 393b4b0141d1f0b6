// A PostgreSQL that dies at the worst moment: a refusal for whoever waits, and the process lives on.
import { createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { ENGINE } from '../../test/support/databases.ts'
import { deferred } from '../../test/support/tampered-db.ts'
import type { Refusal } from '../core/refusal.ts'
import { CommitUnknown, type OpenDb, sql } from './db.ts'
import { openPostgres } from './postgres.ts'

const message = (type: string, body: Buffer) => {
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
const AUTHENTICATED = message('R', Buffer.alloc(4))
const READY = message('Z', Buffer.from('I'))
const DYING = message('E', Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0'))

/** Speaks just enough of the protocol to be connected to, and then says what it is told to say. */
async function startDying(talk: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', () => talk(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const db = openPostgres(`postgres://postgres@127.0.0.1:${port}/postgres`)
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await db.close()
  })
  return db
}

const kindOf = (work: Promise<unknown>) =>
  work.then(
    () => 'answered',
    (error: Refusal) => error.kind,
  )

test.each([
  ['a transaction', (db: Awaited<ReturnType<typeof startDying>>) => db.transaction((tx) => tx.rows(sql`SELECT 1`))],
  ['a statement', (db: Awaited<ReturnType<typeof startDying>>) => db.rows(sql`SELECT 1`)],
  ['a ping', (db: Awaited<ReturnType<typeof startDying>>) => db.ping()],
])(
  'F21 a connection that dies in the packet that made it ready is a refusal for %s, not a crash',
  async (_what, ask) => {
    const db = await startDying((socket) => socket.end(Buffer.concat([AUTHENTICATED, READY, DYING])))
    expect(await kindOf(ask(db))).toBe('unavailable')
  },
)

test.runIf(ENGINE === 'postgres')(
  '§8.2 statements are not compiled, and what else the address asks for is kept',
  async () => {
    const url = process.env.TEST_DATABASE_URL ?? ''
    for (const [more, path] of [
      ['', '"$user", public'],
      ['?options=-c%20search_path%3Delsewhere', 'elsewhere'],
      ['?application_name=x&options=-c%20search_path%3Delsewhere', 'elsewhere'],
      ['?application_name=x', '"$user", public'],
    ]) {
      const db = openPostgres(url + more)
      onTestFinished(() => db.close())
      expect([await db.rows(sql`SHOW jit`), await db.rows(sql`SHOW search_path`)]).toEqual([
        [{ jit: 'off' }],
        [{ search_path: path }],
      ])
    }
  },
)

test.runIf(ENGINE === 'postgres')(
  '§store statements by themselves share few connections, each has its own answer, and a broken one is opened again',
  async () => {
    const url = process.env.TEST_DATABASE_URL ?? ''
    const broken: Error[] = []
    const db = openPostgres(`${url}?application_name=sharing`, { onIdleError: (error) => broken.push(error) })
    const other = openPostgres(url)
    onTestFinished(async () => void (await Promise.all([db.close(), other.close()])))
    const numbers = Array.from({ length: 50 }, (_, n) => n)
    const echo = async (n: number) => (await db.rows<{ n: number }>(sql`SELECT CAST(${n} AS INTEGER) AS n`))[0]?.n
    expect(await Promise.all(numbers.map(echo))).toEqual(numbers)

    const ended = await other.rows(sql`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'sharing'`)
    expect(ended).toHaveLength(3)
    await expect.poll(() => broken.length).toBe(3)
    expect(await Promise.all(numbers.map(echo))).toEqual(numbers)
  },
)

test.runIf(ENGINE === 'postgres')(
  '§store those that wait on a line as it breaks are refused, and nobody after them',
  async () => {
    const url = process.env.TEST_DATABASE_URL ?? ''
    const db = openPostgres(`${url}?application_name=breaking`)
    const other = openPostgres(url)
    onTestFinished(async () => void (await Promise.all([db.close(), other.close()])))
    const slow = Array.from({ length: 9 }, () => kindOf(db.rows(sql`SELECT pg_sleep(60)`)))
    const running = sql`SELECT pid FROM pg_stat_activity WHERE application_name = 'breaking' AND state = 'active'`
    await expect.poll(async () => (await other.rows(running)).length).toBe(3)
    await other.rows(sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'breaking'`)
    expect(new Set(await Promise.all(slow))).toEqual(new Set(['unavailable']))
    expect(await db.rows(sql`SELECT 1 AS one`)).toEqual([{ one: 1 }])
  },
)

test.runIf(ENGINE === 'postgres')(
  'T-104 a connection that breaks under what goes with the COMMIT leaves its outcome unknown',
  async () => {
    const url = process.env.TEST_DATABASE_URL ?? ''
    const db = openPostgres(`${url}?application_name=ending`)
    const other = openPostgres(url)
    onTestFinished(async () => void (await Promise.all([db.close(), other.close()])))
    const failing = db.transaction((tx) => tx.last(sql`SELECT pg_sleep(60)`)).catch((error) => error)
    const running = sql`SELECT pid FROM pg_stat_activity WHERE application_name = 'ending' AND state = 'active'`
    await expect.poll(async () => (await other.rows(running)).length).toBe(1)
    await other.rows(sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'ending'`)
    expect(await failing).toBeInstanceOf(CommitUnknown)
  },
)

test.runIf(ENGINE === 'postgres')('0363 what goes with the COMMIT and takes too long has not happened', async () => {
  const db = openPostgres(process.env.TEST_DATABASE_URL ?? '', { statement_timeout_ms: 200 })
  onTestFinished(() => db.close())
  const failed = await db.transaction((tx) => tx.last(sql`SELECT pg_sleep(60)`)).catch((error) => error)
  expect(failed).not.toBeInstanceOf(CommitUnknown)
  expect(failed).toMatchObject({ kind: 'unavailable' })
})

test.runIf(ENGINE === 'postgres')(
  'R78 reads of a name run one at a time, whichever replica asks; those of another name do not wait',
  async () => {
    const replicas = [1, 2].map(() => openPostgres(process.env.TEST_DATABASE_URL ?? ''))
    const [one, other] = replicas as [OpenDb, OpenDb]
    const [taken, go] = [deferred(), deferred()]
    onTestFinished(async () => {
      go.resolve()
      await Promise.all(replicas.map((db) => db.close()))
    })
    const reading = one.transaction(async (tx) => {
      expect(await tx.tryLock('usage of a')).toBe(true)
      taken.resolve()
      await go.promise
    })
    await taken.promise
    let is_read = false
    const waiting = other.rows({ ...sql`SELECT 1 AS one`, alone: 'usage of a' }).finally(() => (is_read = true))
    for (let n = 0; n < 5; n++)
      expect(await other.rows({ ...sql`SELECT 2 AS two`, alone: 'usage of b' })).toEqual([{ two: 2 }])
    expect(is_read).toBe(false)
    go.resolve()
    await reading
    expect(await waiting).toEqual([{ one: 1 }])
  },
)
