// R78: requests of one project do not go on before those of another (core/fair-turns.ts).
import type { onRequestHookHandler } from 'fastify'
import type { FairTurns } from '../core/fair-turns.ts'

/** Behind authentication: whose request it is must be known. */
export const inTurn =
  (go: FairTurns['begin'] | FairTurns['goOn']): onRequestHookHandler =>
  ({ caller }, _reply, done) =>
    go(caller.project_id, done)
