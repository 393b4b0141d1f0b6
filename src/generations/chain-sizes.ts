// How long the conversations are that requests continue, as far as this process has read them. A few bytes in a request
// may lead to megabytes in the store: whose key may not send as much is refused before they are read again (§8.1.2).
// Forgetful: what is not known here is read, and then refused.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { JsonBody } from '../core/json-bytes.ts'
import type { Call } from './call.ts'

const KNOWN_MAX = 10_000
const BYTES_PER_TOKEN_USUAL = 4

export interface ChainSizes {
  /** Rejects with the 429, where it is known already that it must come to one. */
  assertMayContinue(request: FastifyRequest, reply: FastifyReply): Promise<void>
  note(call: Call, request: FastifyRequest): void
}

export function chainSizes(): ChainSizes {
  /** By response and key: at least so many tokens. Whoever must not see a response is refused for that, at any size. */
  const known = new Map<string, number>()
  const nameOf = ({ caller }: FastifyRequest, response_id: unknown) => `${caller.key_id} ${response_id}`

  return {
    async assertMayContinue(request, reply) {
      const { previous_response_id } = (bodyOf(request).json ?? {}) as { previous_response_id?: unknown }
      const tokens = known.get(nameOf(request, previous_response_id))
      if (tokens === undefined) return
      // Given back at once: what the call counts as is taken when it has been read.
      await (await request.allowGeneration(reply, { tokens, stream: false, only_asks: true })).end()
    },

    note({ conversation, input_estimate }, request) {
      const previous = conversation?.request.previous_response_id ?? null
      if (previous === null || conversation?.has_pointers) return // what is pointed at may be left out the next time
      // What is new in the request counts for nothing here: the next one may bring less of its own.
      const tokens = input_estimate - Math.ceil(bodyOf(request).bytes.length / BYTES_PER_TOKEN_USUAL)
      if (tokens <= 0) return
      const name = nameOf(request, previous)
      known.delete(name)
      if (known.size >= KNOWN_MAX) for (const oldest of known.keys()) if (known.delete(oldest)) break
      known.set(name, tokens)
    },
  }
}

const NOTHING: JsonBody = { bytes: Buffer.alloc(0), json: undefined }
const bodyOf = ({ body }: FastifyRequest) => (body as JsonBody | undefined) ?? NOTHING
