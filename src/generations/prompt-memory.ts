// What a project has sent lately and where to, by the hashes of its prompts' prefixes: repeated work, and which target
// is believed to hold how much of a prompt (R84).
import type { Clock } from '../core/clock.ts'
import type { Sealing } from '../core/sealing.ts'
import { chainRoot, type Link, prefixChain } from '../reuse/prefix-chain.ts'
import { seenPrefixes } from '../reuse/seen-prefixes.ts'
import type { Target } from '../routing/target.ts'
import type { Call } from './call.ts'
import type { ReuseBelief } from './qos.ts'

const ROOTS_MAX = 10_000

export interface PromptReuse extends ReuseBelief {
  chain: readonly Link[]
}

type Prompted = Pick<Call, 'kind' | 'caller' | 'chain'> & Partial<Pick<Call, 'json' | 'body'>>

export type PromptMemory = ReturnType<typeof promptMemory>

export function promptMemory(clock: Clock, seals: Sealing) {
  const seen = seenPrefixes()
  const roots = new Map<string, string>()

  function rootOf(project_id: string, model: string): string {
    const name = `${project_id} ${model}`
    const known = roots.get(name)
    if (known) return known
    const root = chainRoot(seals.tenantKey(project_id), model)
    if (roots.size >= ROOTS_MAX) roots.clear()
    roots.set(name, root)
    return root
  }

  /** Made once for a call and the upstream's name of the model: routes and reuse are told by the same one. */
  function chainOf(call: Prompted, model: string): readonly Link[] {
    const { kind, caller, json, body } = call
    if (call.chain?.model === model) return call.chain.links
    if (kind === 'embeddings' || !json) return []
    const links = prefixChain(rootOf(caller.project_id, model), json, body?.length ?? 0)
    call.chain = { model, links }
    return links
  }

  return {
    chainOf,

    /** What is believed of the prompt before it is noted. `held_tokens`: by whoever chose among several clusters. */
    believe(call: Call, target: Target, is_affine: boolean, held_tokens?: number): PromptReuse {
      const chain = chainOf(call, target.model)
      const belief = seen.believe({ project_id: call.caller.project_id, target_id: target.id, chain }, clock.now())
      if (held_tokens === undefined) return { chain, is_affine, ...belief }
      const known_tokens = Math.max(belief.known_tokens, held_tokens)
      return { chain, is_affine: false, known_tokens, held_tokens }
    },

    /** How much of the prompt was sent before. `chain` is that of `believe`, where it was asked. */
    note(call: Call, target: Target, chain: readonly Link[] = chainOf(call, target.model)): number {
      return seen.note({ project_id: call.caller.project_id, target_id: target.id, chain }, clock.now())
    },
  }
}
