// §4.9: a plan as it is being typed: texts, and the request that they make once all of them are numbers.
import type { PlanRequest, Tier } from '../../api/cache-plan-calls.ts'

export const COSTS = ['lookup_ms', 'transfer_ms', 'decompression_ms', 'queue_delay_ms'] as const
export type Cost = (typeof COSTS)[number]

export const COST_NAMES: Record<Cost, string> = {
  lookup_ms: 'Look-up',
  transfer_ms: 'Transfer',
  decompression_ms: 'Decompression',
  queue_delay_ms: 'Queue',
}

export type TierDraft = Record<Cost, string> & { id: number; name: string }

export interface PlanDraft {
  expected_recompute_ms: string
  tiers: readonly TierDraft[]
}

export const TIERS_MAX = 16 // §8

let ids = 0

const tier = (name: string, costs: readonly [string, string, string, string]): TierDraft => ({
  id: ++ids,
  name,
  lookup_ms: costs[0],
  transfer_ms: costs[1],
  decompression_ms: costs[2],
  queue_delay_ms: costs[3],
})

/** A long prefix of a large model: from host memory it is worth fetching, from object storage it is not. */
export const exampleDraft = (): PlanDraft => ({
  expected_recompute_ms: '180',
  tiers: [
    tier('host_ram', ['0.4', '22', '0', '3']),
    tier('local_nvme', ['1.2', '74', '12', '9']),
    tier('remote_object', ['8', '160', '24', '40']),
  ],
})

export const newTier = (tiers: readonly TierDraft[]): TierDraft =>
  tier(`tier_${tiers.length + 1}`, ['1', '50', '0', '0'])

export const draftOf = ({ expected_recompute_ms, tiers }: PlanRequest): PlanDraft => ({
  expected_recompute_ms: String(expected_recompute_ms),
  tiers: tiers.map((one) => {
    const [lookup, transfer, decompression, queue] = COSTS.map((cost) => String(one[cost]))
    return tier(one.name, [lookup ?? '', transfer ?? '', decompression ?? '', queue ?? ''])
  }),
})

/** Undefined where it is no number. */
export function numberIn(text: string): number | undefined {
  const digits = text.trim().replaceAll(',', '')
  return /^\d+(\.\d+)?$|^\.\d+$/.test(digits) ? Number(digits) : undefined
}

/** Undefined while something is missing or no number. */
export function requestOf({ expected_recompute_ms, tiers }: PlanDraft): PlanRequest | undefined {
  const recompute = numberIn(expected_recompute_ms)
  const read = tiers.flatMap((one) => tierOf(one) ?? [])
  if (recompute === undefined || read.length !== tiers.length || read.length === 0) return undefined
  return { expected_recompute_ms: recompute, tiers: read }
}

function tierOf(draft: TierDraft): Tier | undefined {
  const { lookup_ms, transfer_ms, decompression_ms, queue_delay_ms } = costsOf(draft)
  if (draft.name.trim() === '') return undefined
  if (lookup_ms === undefined || transfer_ms === undefined) return undefined
  if (decompression_ms === undefined || queue_delay_ms === undefined) return undefined
  return { name: draft.name, lookup_ms, transfer_ms, decompression_ms, queue_delay_ms }
}

export const costsOf = (draft: TierDraft): Record<Cost, number | undefined> => ({
  lookup_ms: numberIn(draft.lookup_ms),
  transfer_ms: numberIn(draft.transfer_ms),
  decompression_ms: numberIn(draft.decompression_ms),
  queue_delay_ms: numberIn(draft.queue_delay_ms),
})

/** What the bars are drawn to: the longest of them, or the recompute line. */
export function longestOf({ expected_recompute_ms, tiers }: PlanDraft): number {
  const totals = tiers.map((one) => Object.values(costsOf(one)).reduce<number>((sum, cost) => sum + (cost ?? 0), 0))
  return Math.max(...totals, numberIn(expected_recompute_ms) ?? 0) || 1
}
