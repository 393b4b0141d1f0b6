// Puts every change on record without the rooms knowing: the handler and its entry are one transaction, which is that
// of a keyed request where there is one. Both happen, or neither does; a replay is no second deed.
import type { FastifyInstance, FastifyRequest, RouteHandlerMethod, RouteOptions } from 'fastify'
import type { Clock } from '../core/clock.ts'
import type { Db } from '../storage/db.ts'
import { actionOf, concernedBy, entryOf, isAudited, type NewEntry, targetOf } from './audit.ts'
import { auditStore } from './audit-store.ts'

/** Must come before the hook that makes POSTs idempotent, whose transaction then goes around this one. */
export function auditChanges(app: FastifyInstance, clock: Clock): void {
  app.addHook('onRoute', (route) => {
    const { method, url, config, handler } = route
    if (typeof method !== 'string' || !(config?.audited || isAudited(method, config?.scope))) return
    const action = actionOf(method, url)
    route.handler = reachesOutside(route) ? recordedAhead(handler, action, clock) : recordedWith(handler, action, clock)
  })
}

const reachesOutside = ({ config }: RouteOptions) =>
  (config as { idempotency?: string } | undefined)?.idempotency !== undefined

function recordedWith(handler: RouteHandlerMethod, action: string, clock: Clock): RouteHandlerMethod {
  return async function (request, reply) {
    const { db } = request
    return db.transaction(async (tx) => {
      request.db = tx
      const result = await handler.call(this, request, reply)
      const deed = request.route.config.audited_as?.(request.body) ?? action
      const done = entry(request, deed, targetOf(result, request.params), clock.now())
      await auditStore(tx).insert(done)
      if (request.route.config.operator) await noteWhereConcerned(tx, done, concernedBy(result, request.params))
      return result
    })
  }
}

/** R79: under no name of the operator's own project. */
async function noteWhereConcerned(tx: Db, done: NewEntry, project_id: string | undefined): Promise<void> {
  if (project_id === undefined || project_id === done.project_id) return
  const { action, target, request_id, created_ms } = done
  await auditStore(tx).insert(entryOf({ project_id, actor: 'operator', action, target, request_id }, created_ms))
}

/** No transaction may wait for the world outside. An entry without its deed is possible then, never the other way. */
function recordedAhead(handler: RouteHandlerMethod, action: string, clock: Clock): RouteHandlerMethod {
  return async function (request, reply) {
    const ahead = entry(request, action, targetOf(undefined, request.params), clock.now())
    const store = auditStore(request.db)
    await store.insert(ahead)
    const result = await withdrawnWhereItFails(() => handler.call(this, request, reply))
    const made = targetOf(result, request.params)
    // The deed is done: whether its entry can be told what came of it changes nothing of that.
    if (ahead.target === undefined && made !== undefined)
      await store.nameTarget(ahead.project_id, ahead.id, made).catch(() => {})
    return result

    async function withdrawnWhereItFails<T>(work: () => T | Promise<T>): Promise<T> {
      try {
        return await work()
      } catch (error) {
        await store.withdraw(ahead.project_id, ahead.id)
        throw error
      }
    }
  }
}

function entry({ caller, id }: FastifyRequest, action: string, target: string | undefined, now: number) {
  const { project_id, person_id, key_id } = caller
  return entryOf({ project_id, actor: person_id ?? key_id, action, target, request_id: id }, now)
}

export interface PersonsDeed {
  person_id: string
  action: string
  request_id: string
  target?: string
  project_id?: string
}

/** What somebody did to their account is on record in every project that they belong to, or in the one it concerns. */
export async function noteInTheirProjects(tx: Db, deed: PersonsDeed, now: number): Promise<void> {
  const { person_id: actor, action, request_id, target = actor } = deed
  const store = auditStore(tx)
  for (const project_id of deed.project_id ? [deed.project_id] : await store.projectsOf(actor))
    await store.insert(entryOf({ project_id, actor, action, target, request_id }, now))
}
