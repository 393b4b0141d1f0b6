// §4.9: what a fetch from one tier costs at a given length and load: look-up, transfer, unpacking, queue.
import { Refusal } from '../core/refusal.ts'
import type { EstimatedTier, TierAsked } from './cache-estimate-shapes.ts'
import type { Deployment } from './deployment.ts'
import {
  NIC_SHARE,
  PCIE_SHARES,
  TIER_KINDS,
  type TierKind,
  type TierPath,
  USUAL_COMPRESSIONS,
  USUAL_TIERS,
  type UsualTier,
} from './hardware-figures.ts'

const GIGA = 1e9

export interface Costs {
  lookup_ms: number
  transfer_ms: number
  decompression_ms: number
  queue_delay_ms: number
}

export interface TierCosts {
  costs(tokens: number, utilization: number): Costs
  utilization: number
  chunk_tokens: number
  basis: EstimatedTier['basis']
}

export function tierCosts(asked: TierAsked, at: number, deployment: Deployment): TierCosts {
  const kind = kindOf(asked, at)
  const usual = USUAL_TIERS[kind]
  const { chunk_tokens = usual.chunk_tokens, utilization = 0, compression = 'none' } = asked
  const { lookup_ms = usual.lookup_ms, lookup_per_chunk_ms = usual.lookup_per_chunk_ms } = asked
  const { first_byte_ms = usual.first_byte_ms, queue_base_ms = usual.queue_base_ms } = asked
  const packing = USUAL_COMPRESSIONS[compression]
  const { compression_ratio: ratio = packing.ratio } = asked
  const { decompress_gigabytes_per_s: unpacking = packing.decompress_gigabytes_per_s } = asked
  if (ratio > 1 && unpacking === undefined && compression === 'none')
    throw new Refusal(
      'invalid_request',
      `'tiers[${at}].decompress_gigabytes_per_s' must be given with a 'compression_ratio' above 1.`,
    )
  const ms_per_byte = msPerByte(asked, at, kind, deployment)
  const { kv_bytes_per_token, fixed_kv_bytes } = deployment.figures
  return {
    utilization,
    chunk_tokens,
    basis: basisOf(asked, usual),
    costs(tokens, load) {
      const bytes = kv_bytes_per_token * tokens + fixed_kv_bytes
      const transfer_ms = first_byte_ms + (bytes / ratio) * ms_per_byte
      return {
        lookup_ms: lookup_ms + lookup_per_chunk_ms * Math.ceil(tokens / chunk_tokens),
        transfer_ms,
        decompression_ms: ratio > 1 && unpacking ? (1e3 * bytes) / (unpacking * GIGA) : 0,
        queue_delay_ms: queue_base_ms + waitFactor(load) * transfer_ms,
      }
    },
  }
}

/** One server, arrivals at random, each served for equally long (M/D/1): what one waits, in service times. */
export const waitFactor = (utilization: number) => utilization / (2 * (1 - utilization))

function kindOf({ kind, name }: TierAsked, at: number): TierKind {
  const named = kind ?? TIER_KINDS.find((one) => one === name.trim())
  if (named) return named
  throw new Refusal(
    'invalid_request',
    `'tiers[${at}].kind' must be one of ${TIER_KINDS.join(', ')}, or 'name' must be.`,
  )
}

function msPerByte(asked: TierAsked, at: number, kind: TierKind, deployment: Deployment): number {
  const { path = USUAL_TIERS[kind].path } = asked
  const own = bandwidth(asked, at, kind, deployment)
  if (own === undefined) return 0 // it is there already
  if (path === 'direct') return 1e3 / (own * GIGA)
  const host = bandwidth({ name: 'host_ram' }, at, 'host_ram', deployment)
  return throughHost(path, 1e3 / (own * GIGA), 1e3 / ((host ?? Number.POSITIVE_INFINITY) * GIGA))
}

const throughHost = (path: Exclude<TierPath, 'direct'>, to_host: number, to_gpu: number) =>
  path === 'serial' ? to_host + to_gpu : Math.max(to_host, to_gpu)

/** Of the whole group, in gigabytes a second. Its GPUs load their parts side by side. */
function bandwidth(asked: TierAsked, at: number, kind: TierKind, deployment: Deployment): number | undefined {
  const usual = USUAL_TIERS[kind]
  const { node_gigabytes_per_s = usual.node_gigabytes_per_s ?? Number.POSITIVE_INFINITY } = asked
  const per_gpu = asked.gigabytes_per_s ?? usualRate(usual, asked.copied, at, deployment)
  if (per_gpu === undefined) return undefined
  const sharing = kind === 'host_ram' && deployment.kv_on_every_gpu ? 1 : deployment.gpu_count
  return Math.min(per_gpu * sharing, node_gigabytes_per_s)
}

function usualRate(
  { gigabytes_per_s }: UsualTier,
  copied: TierAsked['copied'],
  at: number,
  deployment: Deployment,
): number | undefined {
  if (gigabytes_per_s === 'pcie') return PCIE_SHARES[copied ?? 'engine'] * given(deployment, 'pcie_gigabytes_per_s', at)
  if (gigabytes_per_s === 'nic') return NIC_SHARE * given(deployment, 'nic_gigabytes_per_s', at)
  return gigabytes_per_s
}

function given(deployment: Deployment, field: 'pcie_gigabytes_per_s' | 'nic_gigabytes_per_s', at: number): number {
  const rate = deployment[field]
  if (rate !== undefined) return rate
  throw new Refusal('invalid_request', `'gpu.${field}' must be given where 'gpu.type' is not, for 'tiers[${at}]'.`)
}

/** What stands in the tables as a rate of its own is an assumption; a share of what the GPU has is derived from it. */
function basisOf(asked: TierAsked, { gigabytes_per_s: usual_rate }: UsualTier): EstimatedTier['basis'] {
  const { gigabytes_per_s: rate, lookup_ms, first_byte_ms, queue_base_ms, utilization, compression } = asked
  const told = (...figures: unknown[]) => figures.every((figure) => figure !== undefined)
  const derived = told(rate) || typeof usual_rate !== 'number'
  return {
    lookup: told(lookup_ms) ? 'given' : 'assumed',
    transfer: told(rate, first_byte_ms) ? 'given' : derived ? 'derived' : 'assumed',
    decompression: told(asked.decompress_gigabytes_per_s) ? 'given' : told(compression) ? 'assumed' : 'derived',
    queue_delay: told(queue_base_ms, utilization) ? 'given' : 'assumed',
  }
}
