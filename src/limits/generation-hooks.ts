// §8.1.2 inside the inference path (R24): the tokens, the stream and the place of one generation, judged together, once
// the body was read and a replay would have been given. Tokens are taken as estimated and settled to what was used, in
// the second of the taking. A stream is a lease, and so is a place among those of its key that run: both are let go of
// when the generation ends, however it ends.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../core/caller.ts'
import type { Ask, LeaseAsk } from '../counters/counters.ts'
import type { LeaseRenewal } from '../counters/lease-renewal.ts'
import { isCompatible, type Limiting, remainingOf } from './limit-hooks.ts'
import { modelAsks } from './model-rates.ts'
import { keyLimits } from './policy.ts'
import { openaiTokens } from './rate-headers.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Rejects with the 429. */
    allowGeneration(reply: FastifyReply, needs: GenerationNeeds): Promise<Allowance>
  }
}

export interface GenerationNeeds {
  tokens: number
  stream: boolean
  /** As the call names it; absent where that is not known yet. */
  model?: string
  /** Nothing runs yet: it is only asked whether so many tokens may. */
  only_asks?: true
}

export interface Allowance {
  /** What the generation used after all; nothing where this is never said. */
  used(tokens: number): void
  /** Only the first call counts. */
  end(): Promise<void>
}

/** Who renews what is held: streams that are open, and calls of keys that may have so many running. */
export interface HeldLeases {
  streams: LeaseRenewal
  running: LeaseRenewal
}

export function limitGenerations(app: FastifyInstance, limiting: Limiting, renewed: HeldLeases): void {
  const { counters, clock, limits, shadow, keyAsk, refuse, noteSpared, look } = limiting

  /** The stream and the place among those that run, as far as they are bounded. */
  function leasesFor({ caller, id }: FastifyRequest, { stream, only_asks }: GenerationNeeds): Wanted[] {
    const wanted: Wanted[] = []
    if (stream) {
      const limit = keyLimits(limits.key, caller.limits).concurrent_streams
      const ask = keyAsk('concurrent_streams', caller, limit, 1)
      wanted.push({
        ask,
        by: renewed.streams,
        lease: { subject: ask.subject, home: ask.home, id },
        limit,
        shadow: shadow.key,
      })
    }
    const parallel = caller.limits?.max_parallel_requests
    if (parallel && !only_asks) {
      const ask = keyAsk('max_parallel_requests', caller, parallel, 1)
      const lease = { subject: `running ${ask.subject}`, home: ask.home, id }
      wanted.push({ ask, by: renewed.running, lease, limit: parallel, shadow: shadow.key })
    }
    return wanted
  }

  async function allow(request: FastifyRequest, reply: FastifyReply, needs: GenerationNeeds): Promise<Allowance> {
    const { caller, route } = request
    const { tokens_per_minute } = keyLimits(limits.key, caller.limits)
    const tokens = keyAsk('tokens_per_minute', caller, tokens_per_minute, needs.tokens)
    const rates = ratesOf(tokens, caller, needs.model, limiting)
    const leases = leasesFor(request, needs)
    const asks = [...rates, ...leases.map(({ ask }) => ask)]
    const verdict = await counters.take(rates, clock.now(), leases)
    // What was counted for the request before is given back, so the answer tells of it anew.
    const refusal = verdict.kind === 'refused' ? refuse(request, asks, verdict) : undefined
    if (refusal) await new Promise((told) => look(request, reply, told))
    if (isCompatible(route.url)) reply.headers(openaiTokens(tokens_per_minute, remainingOf(verdict, 0)))
    if (verdict.kind === 'refused') throw refusal
    noteSpared(asks, verdict)
    const { exceeded, second } = verdict
    const held = exceeded.length === 0 ? leases : leases.filter((_, at) => !exceeded.includes(rates.length + at))
    for (const { by, lease } of held) by.hold(lease)

    return allowanceOf(async (used) => {
      for (const { by, lease } of held) await by.release(lease)
      if (used === tokens.amount) return
      const corrections = rates
        .filter(({ name }, at) => !exceeded.includes(at) && name.endsWith('tokens_per_minute'))
        .map(({ layer, name, subject, home, amount }) => ({ layer, name, subject, home, second, by: used - amount }))
      if (corrections.length > 0) await counters.correct(corrections)
    })
  }

  app.decorateRequest('allowGeneration', function (this: FastifyRequest, reply, needs) {
    return allow(this, reply, needs)
  })
}

/** The key's tokens, and what is asked for because of the model. */
function ratesOf(tokens: Ask, caller: Caller, model: string | undefined, { limits, shadow }: Limiting): Ask[] {
  if (model === undefined || !(limits.models.length > 0 || caller.limits?.models)) return [tokens]
  const rules = { operator: limits.models, shadow, key_id: tokens.subject }
  return [tokens, ...modelAsks(caller, { model, tokens: tokens.amount }, rules)]
}

interface Wanted extends LeaseAsk {
  /** As it is told of. */
  ask: Ask
  by: LeaseRenewal
}

function allowanceOf(settle: (used: number) => Promise<void>): Allowance {
  let tokens_used = 0
  let ended = false
  return {
    used(tokens) {
      tokens_used = tokens
    },
    async end() {
      if (ended) return
      ended = true
      await settle(tokens_used)
    },
  }
}
