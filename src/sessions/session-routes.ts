// /v2/sessions and their event lines.
import { Type } from 'typebox'
import type { Caller } from '../core/caller.ts'
import type { Clock } from '../core/clock.ts'
import { type Maker, madeByAnother, makerOf, maySee } from '../core/maker.ts'
import { Refusal } from '../core/refusal.ts'
import type { Sealing } from '../core/sealing.ts'
import { listOf } from '../core/shapes.ts'
import { found, page, type Routes } from '../http/routes.ts'
import { sendList } from '../http/whole-list.ts'
import type { Db } from '../storage/db.ts'
import {
  DeletedSession,
  EventsQuery,
  eventRange,
  MaybeNewSession,
  openSession,
  Session,
  SessionEvent,
} from './session.ts'
import { sessionStore, sessionsPresent } from './session-store.ts'

const Params = Type.Object({ session_id: Type.String({ description: 'Begins `ses_`.' }) })
const converse = { scope: 'inference', class: 'read' } as const // R3: agents open and close their own sessions
const watch = { scope: 'read', class: 'read' } as const
const tags = ['Sessions']

export const sessionRoutes: Routes<{ clock: Clock; seals: Sealing }> = async (app, { clock, seals }) => {
  const storeOn = (db: Db) => sessionStore(db, seals)

  app.post(
    '/v2/sessions',
    {
      config: { ...converse, adds: { kind: 'sessions', present: sessionsPresent } },
      schema: { tags, summary: 'Open a session', body: MaybeNewSession, response: { 200: Session } },
    },
    async ({ caller, body, db }) => {
      const session = openSession(caller.project_id, body, clock.now())
      const { parent_session_id: parent } = session
      if (parent !== undefined && !(await storeOn(db).find(caller.project_id, parent))) throw unknownParent()
      await storeOn(db).insert(session, makerOf(caller), clock.now())
      return session
    },
  )

  app.get(
    '/v2/sessions',
    { config: watch, schema: { tags, summary: 'List sessions, newest first', response: { 200: listOf(Session) } } },
    async ({ caller, db }, reply) => sendList(reply, storeOn(db).list(caller.project_id), Session),
  )

  app.get(
    '/v2/sessions/:session_id',
    { config: watch, schema: { tags, summary: 'Retrieve a session', params: Params, response: { 200: Session } } },
    async ({ caller, params: { session_id: id }, db }) =>
      found(await storeOn(db).find(caller.project_id, id), 'session', id),
  )

  app.delete(
    '/v2/sessions/:session_id',
    {
      config: converse,
      schema: {
        tags,
        summary: 'Delete a session and its events',
        description: 'One that was opened with another key needs the `admin` scope.',
        params: Params,
        response: { 200: DeletedSession },
      },
    },
    async ({ caller, params: { session_id: id }, db }) => {
      await checkMaker(db, caller, id)
      found((await storeOn(db).remove(caller.project_id, id, clock.now())) || undefined, 'session', id)
      return { id, object: 'session.deleted' as const, deleted: true as const }
    },
  )

  app.get(
    '/v2/sessions/:session_id/events',
    {
      config: watch,
      schema: {
        tags,
        summary: 'List a session’s events, newest first',
        description:
          'All of them in one answer. With `limit`, at most so many: where `has_more` is true, `before` with the ' +
          'last `sequence` gives older ones. Contents of turns that were made with another key need the `admin` scope.',
        params: Params,
        querystring: EventsQuery,
        response: { 200: listOf(SessionEvent) },
      },
    },
    async ({ caller, params: { session_id: id }, query, db }, reply) => {
      const { limit, before } = eventRange(query)
      const sessions = storeOn(db)
      const seen = (maker: Maker) => maySee(caller, maker)
      found(await sessions.find(caller.project_id, id), 'session', id)
      if (limit === undefined)
        return sendList(reply, sessions.listAllEvents(caller.project_id, id, { before, maySee: seen }), SessionEvent)
      const asked = { limit: limit + 1, before, maySee: seen }
      return page(await sessions.listEvents(caller.project_id, id, asked), limit)
    },
  )

  app.post(
    '/v2/sessions/:session_id/close',
    {
      config: converse,
      schema: {
        tags,
        summary: 'Close a session',
        description:
          'No further turn begins in it. It can still be read. One that was opened with another key needs the ' +
          '`admin` scope.',
        params: Params,
        response: { 200: Session },
      },
    },
    async ({ caller, params: { session_id: id }, db }) => {
      await checkMaker(db, caller, id)
      return found(await storeOn(db).close(caller.project_id, id), 'session', id)
    },
  )

  async function checkMaker(db: Db, caller: Caller, id: string): Promise<void> {
    const maker = found(await storeOn(db).maker(caller.project_id, id), 'session', id)
    if (!maySee(caller, maker)) throw madeByAnother(`The session '${id}'`)
  }
}

const unknownParent = () => new Refusal('invalid_request', "'parent_session_id' must name a session of this project.")
