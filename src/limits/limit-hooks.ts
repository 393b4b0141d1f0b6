// §8.1 on a request's way (R15): the edge before anything else, unknown addresses included; the rates of key and
// project after 401 and 403, before idempotency. A refusal gives back what the layers before it had counted (R49).
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
  onSendHookHandler,
  RouteOptions,
} from 'fastify'
import type { Caller, OwnLimits } from '../core/caller.ts'
import type { Clock } from '../core/clock.ts'
import type { Cidr } from '../core/ip-address.ts'
import { settleNow } from '../core/maybe-promise.ts'
import type { Refusal } from '../core/refusal.ts'
import type { Ask, Counters, Layer, Verdict } from '../counters/counters.ts'
import { arrivalOf, countedAddresses } from './client-address.ts'
import { limitRefusal, policyName } from './limit-refusal.ts'
import { keyLimits, type Limits, ratedAs } from './policy.ts'
import { openaiRequests, openaiTokens, policyOf, type Remaining, rateLimit } from './rate-headers.ts'
import { ALL_GONE_S } from './sliding-window.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whom it counts for: an IPv4 address or an IPv6 network, as far as trusted proxies tell it. */
    address: string
    /** What was counted for it so far. */
    counted: Counted[]
  }
}

type Taken = Extract<Verdict, { kind: 'taken' }>
type Refused = Extract<Verdict, { kind: 'refused' }>

interface Counted {
  asks: readonly Ask[]
  verdict: Taken
}

export interface LimitNeeds {
  counters: Counters
  clock: Clock
  limits: Limits
  trusted_proxies: readonly Cidr[]
  onRefusal(refused: { layer: Layer; limit: string }): void
  /** What a layer in shadow would have refused. */
  onSpared(spared: { layer: Layer; limit: string; subject: string }): void
}

export type Limiting = ReturnType<typeof limiting>

export function limiting(app: FastifyInstance, needs: LimitNeeds) {
  const { counters, clock, limits } = needs
  const shadow = shadowsOf(limits)
  const addressOf = countedAddresses(needs.trusted_proxies)
  const common_policies = policiesOf(limits)
  app.decorateRequest('address', '')
  app.decorateRequest('counted')

  const take = (asks: readonly Ask[]) => counters.take(asks, clock.now())

  /** What is told of a verdict; undefined where the request may go on. */
  function decide(request: FastifyRequest, asks: readonly Ask[], verdict: Verdict): Refusal | undefined {
    if (verdict.kind === 'refused') return refuse(request, asks, verdict)
    request.counted.push({ asks, verdict })
    noteSpared(asks, verdict)
    return undefined
  }

  function noteSpared(asks: readonly Ask[], { exceeded }: Taken): void {
    for (const at of exceeded) {
      const { layer, name: limit, subject } = asks[at] as Ask
      needs.onSpared({ layer, limit, subject })
    }
  }

  function refuse(request: FastifyRequest, asks: readonly Ask[], { by, wait_s, readings }: Refused): Refusal {
    giveBack(request.counted.splice(0))
    const reached = asks[by] as Ask
    needs.onRefusal({ layer: reached.layer, limit: reached.name })
    return limitRefusal(reached, { left: readings[by]?.left ?? 0, wait_s })
  }

  function giveBack(counted: readonly Counted[]): void {
    const corrections = counted.flatMap(({ asks, verdict }) =>
      asks
        .filter(({ amount }, at) => amount > 0 && !verdict.exceeded.includes(at))
        .map(({ layer, name, subject, home, amount }) => {
          return { layer, name, subject, home, second: verdict.second, by: -amount }
        }),
    )
    if (corrections.length > 0) void counters.correct(corrections)
  }

  function edgeAsk({ class: endpoint_class, public: is_public }: RouteConfig, address: string): Ask {
    const guarded = endpoint_class === 'auth' || endpoint_class === 'inference' ? endpoint_class : 'read'
    const name = `${guarded}_per_minute` as const
    // Pages and probes count apart: nobody's requests may keep a balancer from asking whether we live.
    const subject = is_public && guarded === 'read' ? `public ${address}` : address
    const limit = limits.edge[name]
    return { layer: 'edge', name, subject, home: address, limit, amount: 1, shadow: shadow.edge }
  }

  const keyAsk = (name: keyof OwnLimits, caller: Caller, limit: number, amount: number): Ask => {
    const home = caller.project_id
    return { layer: 'key', name, subject: ratedAs(caller), home, limit, amount, shadow: shadow.key }
  }

  const projectAsk = (name: keyof Limits['project'], subject: string, amount: number): Ask => {
    const limit = limits.project[name]
    return { layer: 'project', name, subject, home: subject, limit, amount, shadow: shadow.project }
  }

  /** An amount of 0 only looks. The tokens of the key are looked at where its answer tells of them. */
  function requestAsks({ caller, route }: FastifyRequest, amount: 0 | 1): Ask[] {
    const { project_id } = caller
    const { url, config } = route
    const key = keyLimits(limits.key, caller.limits)
    const asks = [
      keyAsk('requests_per_minute', caller, key.requests_per_minute, amount),
      projectAsk('requests_per_minute', project_id, amount),
    ]
    if (config.class === 'admin') asks.push(projectAsk('admin_per_minute', project_id, amount))
    if (isCompatible(url)) asks.push(keyAsk('tokens_per_minute', caller, key.tokens_per_minute, 0))
    return asks
  }

  function tellRates(request: FastifyRequest, reply: FastifyReply, asks: readonly Ask[], verdict: Verdict): void {
    const { url, config } = request.route
    const own = request.caller.limits
    const { class: endpoint_class = 'read' } = config
    const policy = own && policyOf(endpoint_class, keyLimits(limits.key, own), limits.project)
    reply.header('ratelimit-policy', policy ?? common_policies[endpoint_class])
    let least = 0
    for (let at = 1; at < asks.length; at++) {
      const { name, limit } = asks[at] as Ask
      const remaining = remainingOf(verdict, at)
      if (name === 'tokens_per_minute') reply.headers(openaiTokens(limit, remaining))
      else if (remaining.left < remainingOf(verdict, least).left) least = at
    }
    reply.header('ratelimit', rateLimit(policyName(asks[least] as Ask), remainingOf(verdict, least)))
    if (isCompatible(url)) reply.headers(openaiRequests((asks[0] as Ask).limit, remainingOf(verdict, 0)))
  }

  function look(request: FastifyRequest, reply: FastifyReply, done: Done): void {
    const asks = requestAsks(request, 0)
    const tell = (verdict: Verdict) => {
      tellRates(request, reply, asks, verdict)
      done()
    }
    settleNow(take(asks), tell, done)
  }

  const edge: onRequestHookHandler = (request, _reply, done) => {
    request.address = addressOf(arrivalOf(request.raw))
    request.counted = []
    const asks = [edgeAsk(request.route.config, request.address)]
    settleNow(take(asks), (verdict) => done(decide(request, asks, verdict)), done)
  }

  const requests: onRequestHookHandler = (request, reply, done) => {
    const asks = requestAsks(request, 1)
    const tell = (verdict: Verdict) => {
      tellRates(request, reply, asks, verdict)
      done(decide(request, asks, verdict))
    }
    settleNow(take(asks), tell, done)
  }

  /** Who was let in but not counted, as with a 403, is told as well. */
  const tellUncounted: onSendHookHandler<unknown> = (request, reply, payload, done) => {
    if (!request.caller || reply.hasHeader('ratelimit')) return done(null, payload)
    look(request, reply, (error) => (error ? done(error) : done(null, payload)))
  }

  return {
    edge,
    requests,
    tellUncounted,
    refuse,
    keyAsk,
    noteSpared,
    look,
    shadow,
    /** R83: the limits have changed. */
    reread(): void {
      Object.assign(shadow, shadowsOf(limits))
      Object.assign(common_policies, policiesOf(limits))
    },
    counters,
    clock,
    limits,
  }
}

type RouteConfig = Pick<NonNullable<RouteOptions['config']>, 'class' | 'public'>

/** OpenAI's protocol, and Azure's form of it. */
export const isCompatible = (url: string | undefined) =>
  url !== undefined && (url.startsWith('/v1/') || url.startsWith('/openai/'))

const shadowsOf = ({ shadow }: Limits) => ({
  edge: shadow.includes('edge'),
  key: shadow.includes('key'),
  project: shadow.includes('project'),
})

/** What RateLimit-Policy says, by the class of the endpoint. */
const policiesOf = ({ key, project }: Limits) => ({
  auth: policyOf('auth', key, project),
  inference: policyOf('inference', key, project),
  read: policyOf('read', key, project),
  admin: policyOf('admin', key, project),
})

/** T-62: where this is what refused, more comes when Retry-After says. */
export function remainingOf(verdict: Verdict, at: number): Remaining {
  const reading = verdict.readings[at] ?? { left: 0, more_in_s: 0 }
  if (verdict.kind === 'taken' || verdict.by !== at) return reading
  return { left: reading.left, more_in_s: verdict.wait_s ?? ALL_GONE_S }
}

type Done = (error?: Error) => void
