// What a project has sent lately and where to, by the hashes of its prompts' prefixes: repeated work, and which target
// is believed to hold how much of a prompt (R84).
import type { Caller } from '../core/caller.ts'
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

type Prompted = Pick<Call, 'kind' | 'caller' | 'chain'> & Partial<Pick<Call, 'json' | 'body' | 'media'>>

export type PromptMemory = ReturnType<typeof promptMemory>

export function promptMemory(clock: Clock, seals: Sealing) {
  const seen = seenPrefixes()
  const roots = new Map<string, string>()
  const epochs = new Map<string, number>()

  /**
   * What a project's memory goes by. Where a purge job raised the project's number, that is another name, and another
   * key for its hashes: what was remembered before cannot be met again, and is dropped here.
   */
  function memoryOf({ project_id, memory_epoch = 0 }: Pick<Caller, 'project_id' | 'memory_epoch'>): string {
    if (memory_epoch === 0) return project_id
    const known = epochs.get(project_id) ?? 0
    if (known < memory_epoch) {
      seen.drop(nameAt(project_id, known))
      if (epochs.size >= ROOTS_MAX) epochs.clear()
      epochs.set(project_id, memory_epoch)
    }
    return nameAt(project_id, memory_epoch)
  }

  function rootOf(memory: string, model: string): string {
    const name = `${memory} ${model}`
    const known = roots.get(name)
    if (known) return known
    const root = chainRoot(seals.tenantKey(memory), model)
    if (roots.size >= ROOTS_MAX) roots.clear()
    roots.set(name, root)
    return root
  }

  /** Made once for a call and the upstream's name of the model: routes and reuse are told by the same one. */
  function chainOf(call: Prompted, model: string): readonly Link[] {
    const { kind, caller, json, body } = call
    if (call.chain?.model === model) return call.chain.links
    if (kind === 'embeddings' || !json || call.media) return []
    const links = prefixChain(rootOf(memoryOf(caller), model), json, body?.length ?? 0)
    call.chain = { model, links }
    return links
  }

  return {
    chainOf,

    /** What is believed of the prompt before it is noted. `held_tokens`: by whoever chose among several clusters. */
    believe(call: Call, target: Target, is_affine: boolean, held_tokens?: number): PromptReuse {
      const chain = chainOf(call, target.model)
      const belief = seen.believe({ project_id: memoryOf(call.caller), target_id: target.id, chain }, clock.now())
      if (held_tokens === undefined) return { chain, is_affine, ...belief }
      const known_tokens = Math.max(belief.known_tokens, held_tokens)
      return { chain, is_affine: false, known_tokens, held_tokens }
    },

    /** How much of the prompt was sent before. `chain` is that of `believe`, where it was asked. */
    note(call: Call, target: Target, given?: readonly Link[]): number {
      if (call.is_replay) return 0
      const chain = given ?? chainOf(call, target.model)
      return seen.note({ project_id: memoryOf(call.caller), target_id: target.id, chain }, clock.now())
    },
  }
}

const nameAt = (project_id: string, epoch: number) => (epoch === 0 ? project_id : `${project_id} ${epoch}`)
