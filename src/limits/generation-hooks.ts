// §8.1.2 inside the inference path (R24): the tokens and the stream of one generation, judged together, after the body
// was read and a replay would have been given. Tokens are taken as estimated and settled to what was used, in the
// second of the taking; a stream is a lease, let go of when the generation ends, however it ends.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { LeaseRenewal } from '../counters/lease-renewal.ts'
import { isCompatible, type Limiting, remainingOf } from './limit-hooks.ts'
import { keyLimits, ratedAs } from './policy.ts'
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
}

export interface Allowance {
  /** What the generation used after all; nothing where this is never said. */
  used(tokens: number): void
  /** Only the first call counts. */
  end(): Promise<void>
}

export function limitGenerations(app: FastifyInstance, limiting: Limiting, streams: LeaseRenewal): void {
  const { counters, clock, limits, shadow, keyAsk, refuse, noteSpared, look } = limiting

  async function allow(request: FastifyRequest, reply: FastifyReply, needs: GenerationNeeds): Promise<Allowance> {
    const { caller, id, route } = request
    const { tokens_per_minute, concurrent_streams } = keyLimits(limits.key, caller.limits)
    const key_id = ratedAs(caller)
    const tokens = keyAsk('tokens_per_minute', key_id, tokens_per_minute, needs.tokens)
    const stream = keyAsk('concurrent_streams', key_id, concurrent_streams, 1)
    const lease = { subject: key_id, id }
    const lease_ask = needs.stream ? { lease, limit: concurrent_streams, shadow: shadow.key } : undefined

    const verdict = await counters.take([tokens], clock.now(), lease_ask)
    // What was counted for the request before is given back, so the answer tells of it anew.
    const refusal = verdict.kind === 'refused' ? refuse(request, [tokens, stream], verdict) : undefined
    if (refusal) await new Promise((told) => look(request, reply, told))
    if (isCompatible(route.url)) reply.headers(openaiTokens(tokens_per_minute, remainingOf(verdict, 0)))
    if (verdict.kind === 'refused') throw refusal

    noteSpared([tokens, stream], verdict)
    const [tokens_spared, stream_spared] = [0, 1].map((at) => verdict.exceeded.includes(at))
    const held = needs.stream && !stream_spared ? lease : undefined
    if (held) streams.hold(held)
    return allowanceOf(async (used) => {
      if (held) await streams.release(held)
      const { layer, name, subject, amount } = tokens
      const correction = { layer, name, subject, second: verdict.second, by: used - amount }
      if (!tokens_spared && used !== amount) await counters.correct([correction])
    })
  }

  app.decorateRequest('allowGeneration', function (this: FastifyRequest, reply, needs) {
    return allow(this, reply, needs)
  })
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
