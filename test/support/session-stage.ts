// Sessions at rest with their turns, for the suites of their stores.
import { sealing } from '../../src/core/sealing.ts'
import { openSession, type Session, type Turn } from '../../src/sessions/session.ts'
import { sessionStore } from '../../src/sessions/session-store.ts'
import type { Db, OpenDb } from '../../src/storage/db.ts'
import { NOON } from './clock.ts'
import { projectIn } from './projects.ts'

export const MAKER = { made_by: 'key_1', made_under: null }
/** All events of a session. */
export const ALL = { limit: 1_000, before: Number.MAX_SAFE_INTEGER, maySee: () => true }

export function sessionStage(db: () => OpenDb) {
  const seals = sealing('the secret of this server, long enough')
  const on = (one: Db) => sessionStore(one, seals)
  const store = () => on(db())
  return {
    ...{ seals, on, store },

    async opened(more: object = {}, project_id?: string): Promise<Session> {
      const session = openSession(project_id ?? (await projectIn(db())), more, NOON)
      await store().insert(session, MAKER, NOON)
      return session
    },

    turnIn: ({ id }: Session, more: Partial<Turn> = {}): Turn => ({
      session_id: id,
      response_id: 'resp_1',
      trace_id: 'trc_1',
      input: [{ role: 'user', content: 'How many moons has Mars?' }],
      output: 'Two: Phobos and Deimos.',
      input_tokens: 12,
      cached_tokens: 4,
      maker: MAKER,
      ...more,
    }),
  }
}
