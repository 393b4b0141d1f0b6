// The registered routes as a test walks them: a real address for each, and what ruling R3 asks of its caller.
import type { RouteOptions } from 'fastify'
import type { Scope } from '../../src/core/scopes.ts'

export interface Walk {
  method: string
  /** The pattern it was declared with. */
  route: string
  /** An address that reaches it; whatever it names does not exist. */
  url: string
  isPublic: boolean
}

export function walkOf(routes: readonly RouteOptions[]): Walk[] {
  return routes.flatMap(({ method, url, config }) =>
    [method].flat().map((one) => ({
      method: one,
      route: url,
      url: url
        .replace(/:(\w+?)_id/g, 'unknown_$1')
        .replace(/:\w+/g, 'unknown')
        .replace(/\*$/, 'unknown'),
      isPublic: config?.public === true,
    })),
  )
}

/** They take a body and change nothing that is the project's: views are whoever's who saved them. */
const READS =
  /^\/v2\/((byoc\/hicache-(plan|estimate)|route-explain|purge-receipts\/verify|leaked-keys)$|saved-views(\/|$))/
/** R74: they tell addresses of members and receivers, what was erased, or what others' calls said. */
const ADMINS = /^\/v2\/(audit-log$|purge-jobs|replay-runs|notification-channels)/

/**
 * R3 and R64, told from the address alone: what a route declares of itself is what is being tested. A key that is not
 * the caller's own has children by an admin only.
 */
export function scopeByRuling({ method, route }: Walk): Scope {
  if (route.startsWith('/v2/operator/')) return 'admin' // R79
  if (ADMINS.test(route)) return 'admin'
  if (method === 'GET' || method === 'HEAD' || READS.test(route)) return 'read'
  const generates =
    /^\/(v1|openai|anthropic\/v1)\/|^\/v2\/(responses|agent-hints|sessions|artifacts|bundles)(\/|$)/.test(route)
  return generates || /\/heartbeat$/.test(route) ? 'inference' : 'admin'
}

/** R79: what an admin may do only in the project that runs the service; told from the address alone, like the scope. */
export const isOperators = ({ method, route }: Pick<Walk, 'method' | 'route'>): boolean =>
  route.startsWith('/v2/operator/') || (method === 'POST' && route.startsWith('/v2/subscriptions'))
