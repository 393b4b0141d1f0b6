// What a room's routes file is made of. The one place that extends Fastify's types.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Caller } from '../core/caller.ts'
import { Refusal } from '../core/refusal.ts'
import type { Scope } from '../core/scopes.ts'
import type { Db } from '../storage/db.ts'

export type EndpointClass = 'auth' | 'inference' | 'read' | 'admin' // §8.1

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller
    /** Before anything was looked up, or its body had come (R44). */
    received_at: number
    /** `routeOptions`, which Fastify puts together anew at every look. */
    route: FastifyRequest['routeOptions']
    /** Where this request reads and writes: a transaction where its effect is kept together with its answer (R21). */
    db: Db
  }
  interface FastifyContextConfig {
    /** Who may call (R3). A route declares this and its class, or says `public`: else the service does not start. */
    scope?: Scope
    class?: EndpointClass
    public?: true
    /** R81: the key may also come as `x-api-key`. */
    x_api_key?: true
    /** The key may also come as `api-key`, as clients of Azure send it. */
    api_key?: true
    /** §5.6: only for projects whose owner has a verified e-mail address. */
    verified_owner?: true
    /** R79: only for whoever runs the service: an admin of the project that the first start made. */
    operator?: true
    /** R79: an admin may read this of a project that the operator suspended. */
    while_suspended?: true
    /** What scopes alone do not tell: asked before any kept answer is looked for. */
    forbidden?(caller: Caller, params: unknown): Refusal | undefined
    /** Put on record though no admin's scope is needed. */
    audited?: true
    /** Where what is sent makes it the deed of another endpoint: on record as that one. */
    audited_as?(body: unknown): string | undefined
  }
}

export type Routes<Needs = object> = FastifyPluginAsyncTypebox<Needs & Record<never, never>>

export const list = <T>(data: T[]) => ({ object: 'list' as const, data, has_more: false }) // R10

/** At most `limit` of them. The store was asked for one more, which tells whether there is one (§8.2). */
export const page = <T>(data: T[], limit: number) => ({
  ...list(data.slice(0, limit)),
  has_more: data.length > limit,
})

/** §5.8: what the project cannot see does not exist. */
export function found<T>(thing: T | undefined, what: string, id: string): T {
  if (thing === undefined) throw new Refusal('not_found', `No ${what} '${id}' in this project.`)
  return thing
}

/** All values of a header, in order: Node joins or drops repetitions, which would hide a second key or identity. */
export function headerValues(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const header = rawHeaders[at] as string
    if (header.length === name.length && header.toLowerCase() === name) values.push(rawHeaders[at + 1] as string)
  }
  return values
}
