// The whole service over a real database, with a clock the test holds. No mocks.
import { pino } from 'pino'
import { onTestFinished } from 'vitest'
import { buildService } from '../../src/app.ts'
import { foundProject } from '../../src/bootstrap.ts'
import type { Scope } from '../../src/core/scopes.ts'
import { housekeepingTasks } from '../../src/housekeeping.ts'
import { createKey } from '../../src/keys/key.ts'
import { keyStore } from '../../src/keys/key-store.ts'
import { heldClock } from './clock.ts'
import { type Engine, freshDb } from './databases.ts'

export interface Answer {
  status: number
  headers: Record<string, string>
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of a body by looking into it
  body: any
  bytes: Buffer
}

export interface Sending {
  headers?: Record<string, string>
  /** Sent as it is; `body` would be made JSON first. */
  payload?: string | Buffer
  body?: unknown
}

export type TestService = Awaited<ReturnType<typeof startService>>

export const SECRET = 'a secret for tests, 32 characters or more'

export async function startService({ engine, log = [] }: { engine?: Engine; log?: string[] } = {}) {
  const clock = heldClock()
  const { db, location, drop } = await freshDb(engine)
  const logger = pino({ level: 'trace' }, { write: (line: string) => void log.push(line) })
  const { project, key } = await foundProject(
    db,
    { name: 'home', owner_email: 'ada@example.com', verified: true },
    clock.now(),
  )
  const service = await buildService({ db, clock, logger, secret: SECRET, process_id: 'test', version: 'test' })
  const { app } = service
  await app.ready()
  onTestFinished(async () => {
    await app.close()
    await drop()
  })

  function as(raw: string | undefined) {
    async function send(method: string, url: string, { headers, payload, body }: Sending = {}): Promise<Answer> {
      const content = payload ?? (body === undefined ? undefined : JSON.stringify(body))
      const reply = await app.inject({
        method: method as 'GET',
        url,
        headers: {
          ...(raw && { authorization: `Bearer ${raw}` }),
          ...(content !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(content !== undefined && { payload: content }),
      })
      const isJson = String(reply.headers['content-type']).startsWith('application/json')
      return {
        status: reply.statusCode,
        headers: reply.headers as Record<string, string>,
        body: isJson && reply.payload !== '' ? JSON.parse(reply.payload) : reply.payload,
        bytes: reply.rawPayload,
      }
    }
    return {
      send,
      get: (url: string, headers?: Record<string, string>) => send('GET', url, headers ? { headers } : {}),
      post: (url: string, body?: unknown, headers?: Record<string, string>) =>
        send('POST', url, { body, ...(headers && { headers }) }),
      del: (url: string, headers?: Record<string, string>) => send('DELETE', url, headers ? { headers } : {}),
    }
  }

  /** Another project, and its admin key. */
  async function newProject({ verified = true, owner_email = `${Math.random()}@example.com` } = {}) {
    const founded = await foundProject(db, { name: 'other', owner_email, verified }, clock.now())
    return { project: founded.project, key: founded.key.raw, ...as(founded.key.raw) }
  }

  /** A further key of the home project, straight from the store. */
  async function keyWith(...scopes: Scope[]): Promise<string> {
    const minted = createKey(project.id, { name: scopes.join('+'), scopes }, clock.now())
    await keyStore(db).insert(minted, clock.now())
    return minted.raw
  }

  /** Runs one housekeeping task now, by name. */
  async function housekeep(name: string): Promise<void> {
    const task = housekeepingTasks(service, db, clock, app.log).find((one) => one.name === name)
    if (!task) throw new Error(`no housekeeping task '${name}'`)
    await task.run()
  }

  return {
    ...service,
    ...as(key.raw),
    as,
    key: key.raw,
    key_id: key.api_key.id,
    project,
    newProject,
    keyWith,
    housekeep,
    clock,
    db,
    location,
    log,
  }
}
