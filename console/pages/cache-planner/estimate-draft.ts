// §4.9: what an estimate is asked with, as it is typed.
import type { CacheEstimateRequest, CacheFigures } from '../../api/cache-plan-calls.ts'
import { numberIn } from './plan-draft.ts'

type TierKind = CacheFigures['tiers'][number]['kind']
type Compression = NonNullable<NonNullable<CacheEstimateRequest['tiers']>[number]['compression']>
export type Precision = 'bf16' | 'fp8'

export const COMPRESSIONS = ['none', 'fp8', 'lz4', 'zstd', 'cachegen'] as const satisfies readonly Compression[]

export interface EstimatedTierDraft {
  kind: TierKind
  used: boolean
  /** Empty: the usual one. */
  gigabytes_per_s: string
  compression: Compression
}

export interface EstimateDraft {
  model: string
  gpu_type: string
  gpu_count: string
  precision: Precision
  kv_precision: Precision
  prefix_tokens: string
  /** How busy the tiers are, in percent. */
  load_pct: number
  tiers: readonly EstimatedTierDraft[]
}

export const LOAD_MAX_PCT = 95
const USED: readonly TierKind[] = ['host_ram', 'local_nvme', 'remote', 'remote_3fs']

/** What the tables know best, a small model on one GPU, where tiers both win and lose; else the first of each. */
export function firstEstimate({ models, gpus, tiers }: CacheFigures): EstimateDraft {
  const known = <T>(wanted: T, all: readonly T[]) => (all.includes(wanted) ? wanted : all[0]) ?? wanted
  return {
    model: known(
      'llama-3.1-8b',
      models.map(({ id }) => id),
    ),
    gpu_type: known(
      'h100_sxm',
      gpus.map(({ type }) => type),
    ),
    gpu_count: '1',
    precision: 'bf16',
    kv_precision: 'bf16',
    prefix_tokens: '16384',
    load_pct: 30,
    tiers: tiers.map(({ kind }) => ({ kind, used: USED.includes(kind), gigabytes_per_s: '', compression: 'none' })),
  }
}

const isWhole = (number: number | undefined) => number !== undefined && Number.isInteger(number)

/** Undefined while a number is missing or no tier is looked at. */
export function estimateRequest(draft: EstimateDraft): CacheEstimateRequest | undefined {
  const count = numberIn(draft.gpu_count)
  const prefix_tokens = numberIn(draft.prefix_tokens)
  const used = draft.tiers.filter((tier) => tier.used)
  if (!isWhole(count) || !isWhole(prefix_tokens) || used.length === 0) return undefined
  if (used.some(({ gigabytes_per_s: rate }) => rate.trim() !== '' && numberIn(rate) === undefined)) return undefined
  return {
    model: draft.model,
    gpu: { type: draft.gpu_type, count: count as number, precision: draft.precision },
    prefix_tokens: prefix_tokens as number,
    kv_bytes_per_value: draft.kv_precision === 'fp8' ? 1 : 2,
    tiers: used.map(({ kind, gigabytes_per_s, compression }) => {
      const rate = numberIn(gigabytes_per_s)
      return {
        name: kind,
        utilization: draft.load_pct / 100,
        ...(rate !== undefined && { gigabytes_per_s: rate }),
        ...(compression !== 'none' && { compression }),
      }
    }),
  }
}
