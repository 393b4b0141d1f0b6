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

  function chainOf({ kind, caller, json, body }: Call, { model }: Target): readonly Link[] {
    return kind === 'embeddings' ? [] : prefixChain(rootOf(caller.project_id, model), json, body.length)
  }

  return {
    /** What is believed of the prompt before it is noted. */
    believe(call: Call, target: Target, is_affine: boolean): PromptReuse {
      const chain = chainOf(call, target)
      const belief = seen.believe({ project_id: call.caller.project_id, target_id: target.id, chain }, clock.now())
      return { chain, is_affine, ...belief }
    },

    /** How much of the prompt was sent before. `chain` is that of `believe`, where it was asked. */
    note(call: Call, target: Target, chain: readonly Link[] = chainOf(call, target)): number {
      return seen.note({ project_id: call.caller.project_id, target_id: target.id, chain }, clock.now())
    },
  }
}
