// R78: requests of one project do not go on before those of another (core/fair-turns.ts).
import type { onRequestHookHandler } from 'fastify'
import type { FairTurns } from '../core/fair-turns.ts'
import { Refusal } from '../core/refusal.ts'

/** Behind authentication: whose request it is must be known. */
export const beginInTurn =
  ({ begin }: Pick<FairTurns, 'begin'>): onRequestHookHandler =>
  ({ caller }, _reply, done) =>
    begin(caller.project_id, done, () => done(tooBusy()))

/** For what has begun, and waited since. */
export const goOnInTurn =
  ({ goOn }: Pick<FairTurns, 'goOn'>): onRequestHookHandler =>
  ({ caller }, _reply, done) =>
    goOn(caller.project_id, done)

const RETRY_AFTER_S = 5

const tooBusy = () =>
  new Refusal('unavailable', 'This server has more to do than it can: nothing was done for this request. Retry it.', {
    headers: { 'retry-after': String(RETRY_AFTER_S) },
  })
