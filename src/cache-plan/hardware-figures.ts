// §4.9: what models and GPUs are made of, and what cache tiers usually cost, as of AS_OF. Data with its formulas; every
// figure can be given in the request instead. What no vendor publishes is an assumption, and is called one.

/** When the tables were last compared with their sources. */
export const AS_OF = '2026-11-15'

export type Attention =
  | { kind: 'gqa'; full_layers: number; heads: number; kv_heads: number; head_dim: number; sliding?: Sliding }
  | { kind: 'mla'; layers: number; heads: number; kv_rank: number; rope_dim: number; nope_dim: number; v_dim: number }

/** Layers that look back over a window only, so that their part of the cache does not grow. */
interface Sliding {
  layers: number
  window_tokens: number
}

export interface Model {
  id: string
  /** Active in prefill, in billions, without embedding and output head. */
  active_parameters_billions: number
  mixture_of_experts: boolean
  attention: Attention
}

const gqa = (full_layers: number, heads: number, kv_heads: number, head_dim = 128): Attention => ({
  kind: 'gqa',
  full_layers,
  heads,
  kv_heads,
  head_dim,
})
const mla = (heads: number): Attention => ({
  kind: 'mla',
  layers: 61,
  heads,
  kv_rank: 512,
  rope_dim: 64,
  nope_dim: 128,
  v_dim: 128,
})
/** Every other layer has a window of 128 tokens. */
const ossAttention = (full_layers: number): Attention => ({
  kind: 'gqa',
  full_layers,
  heads: 64,
  kv_heads: 8,
  head_dim: 64,
  sliding: { layers: full_layers, window_tokens: 128 },
})
const dense = (id: string, active_parameters_billions: number, attention: Attention): Model => ({
  id,
  active_parameters_billions,
  mixture_of_experts: false,
  attention,
})
const experts = (id: string, active_parameters_billions: number, attention: Attention): Model => ({
  ...dense(id, active_parameters_billions, attention),
  mixture_of_experts: true,
})

/** From the models' own configuration files. Those of DeepSeek and Kimi state their active parameters themselves. */
export const MODELS: readonly Model[] = [
  dense('llama-3.1-8b', 6.98, gqa(32, 32, 8)),
  dense('llama-3.1-70b', 68.45, gqa(80, 64, 8)),
  dense('llama-3.3-70b', 68.45, gqa(80, 64, 8)),
  dense('llama-3.1-405b', 401.7, gqa(126, 128, 8)),
  dense('qwen3-8b', 6.95, gqa(36, 32, 8)),
  dense('qwen3-32b', 31.21, gqa(64, 64, 8)),
  experts('qwen3-30b-a3b', 2.72, gqa(48, 32, 4)),
  experts('qwen3-235b-a22b', 20.9, gqa(94, 64, 4)),
  experts('qwen3-coder-480b-a35b', 33.55, gqa(62, 96, 8)),
  experts('minimax-m2.5', 9.75, gqa(62, 48, 8)),
  experts('minimax-m2.7', 9.75, gqa(62, 48, 8)),
  experts('mixtral-8x7b', 12.62, gqa(32, 32, 8)),
  experts('gpt-oss-20b', 3.03, ossAttention(12)),
  experts('gpt-oss-120b', 4.54, ossAttention(18)),
  experts('deepseek-v3', 37, mla(128)),
  experts('deepseek-r1', 37, mla(128)),
  experts('kimi-k2', 32, mla(64)),
  experts('kimi-k2.5', 32, mla(64)),
]

export function kvBytesPerToken(attention: Attention, bytes_per_value: number): number {
  if (attention.kind === 'mla') return attention.layers * (attention.kv_rank + attention.rope_dim) * bytes_per_value
  return 2 * attention.full_layers * attention.kv_heads * attention.head_dim * bytes_per_value
}

/** What the windows hold, however long the prefix is. */
export function fixedKvBytes(attention: Attention, bytes_per_value: number): number {
  if (attention.kind === 'mla' || !attention.sliding) return 0
  const { layers, window_tokens } = attention.sliding
  return layers * 2 * attention.kv_heads * attention.head_dim * window_tokens * bytes_per_value
}

/** FLOPs for each pair of tokens; that a token looks back only, which halves them, is in it already. */
export function attentionFlopsPerPair(attention: Attention): number {
  if (attention.kind === 'gqa') return 2 * attention.full_layers * attention.heads * attention.head_dim
  return attention.layers * attention.heads * (attention.nope_dim + attention.rope_dim + attention.v_dim)
}

export interface Gpu {
  type: string
  bf16_tflops: number
  /** Undefined where it has no such units. */
  fp8_tflops: number | undefined
  /** To the host's memory and back, each way. */
  pcie_gigabytes_per_s: number
  /** Its share of the node's network cards. */
  nic_gigabytes_per_s: number
  /** Hopper is what the efficiencies were fitted on. */
  is_hopper: boolean
}

const gpu = (type: string, [bf16, fp8]: [number, number?], [pcie, nic]: [number, number], is_hopper = false): Gpu => ({
  type,
  bf16_tflops: bf16,
  fp8_tflops: fp8,
  pcie_gigabytes_per_s: pcie,
  nic_gigabytes_per_s: nic,
  is_hopper,
})

/** Dense peaks of the vendor. For the Blackwell parts PCIe is taken as of the fifth generation. */
export const GPUS: readonly Gpu[] = [
  gpu('a100_sxm', [312], [32, 25]),
  gpu('l40s', [362, 733], [32, 50]),
  gpu('h100_sxm', [989, 1_978], [64, 50], true),
  gpu('h200_sxm', [989, 1_978], [64, 50], true),
  gpu('b200_sxm', [2_250, 4_500], [64, 100]),
  gpu('gb200', [2_500, 5_000], [64, 100]),
]

/** How much of the peak prefill reaches. Fitted to published curves of Hopper; elsewhere assumed, on the low side. */
export function usualEfficiency(is_hopper: boolean, mixture_of_experts: boolean, precision: Precision, count: number) {
  if (mixture_of_experts) return { linear: precision === 'fp8' ? 0.25 : 0.35, attention: 0.4 }
  const attention = !is_hopper ? 0.4 : count === 1 ? 0.56 : 0.5
  if (precision === 'fp8') return { linear: 0.4, attention }
  return { linear: !is_hopper ? 0.5 : count === 1 ? 0.64 : count < 4 ? 0.6 : 0.55, attention }
}

export type Precision = 'bf16' | 'fp8'

export const TIER_KINDS = ['gpu_hbm', 'host_ram', 'local_nvme', 'remote', 'remote_3fs', 'remote_object'] as const
export type TierKind = (typeof TIER_KINDS)[number]

/** Into the GPU; or through the host's memory, with both legs at once, or one after the other. */
export type TierPath = 'direct' | 'pipelined' | 'serial'

export interface UsualTier {
  lookup_ms: number
  lookup_per_chunk_ms: number
  chunk_tokens: number
  first_byte_ms: number
  /** Per GPU; undefined where nothing moves. */
  gigabytes_per_s: number | 'pcie' | 'nic' | undefined
  /** All GPUs of the node together. */
  node_gigabytes_per_s: number | undefined
  queue_base_ms: number
  path: TierPath
}

const PAGE = 64

const NONE = { lookup_per_chunk_ms: 0, chunk_tokens: PAGE, first_byte_ms: 0, node_gigabytes_per_s: undefined }
const DIRECT = { ...NONE, path: 'direct' } as const
const PIPELINED = { ...NONE, path: 'pipelined' } as const

/** Look-ups and queues are assumptions throughout: no project publishes them. */
export const USUAL_TIERS: Readonly<Record<TierKind, UsualTier>> = {
  gpu_hbm: { ...DIRECT, lookup_ms: 0.05, gigabytes_per_s: undefined, queue_base_ms: 0 },
  host_ram: {
    ...DIRECT,
    lookup_ms: 0.2,
    first_byte_ms: 0.2,
    gigabytes_per_s: 'pcie',
    node_gigabytes_per_s: 200,
    queue_base_ms: 1,
  },
  local_nvme: {
    ...PIPELINED,
    lookup_ms: 0.5,
    lookup_per_chunk_ms: 0.003,
    first_byte_ms: 0.5,
    gigabytes_per_s: 5,
    node_gigabytes_per_s: 40,
    queue_base_ms: 5,
  },
  remote: {
    ...DIRECT,
    lookup_ms: 1,
    lookup_per_chunk_ms: 0.001,
    first_byte_ms: 0.4,
    gigabytes_per_s: 'nic',
    queue_base_ms: 3,
  },
  remote_3fs: {
    ...PIPELINED,
    lookup_ms: 2,
    lookup_per_chunk_ms: 0.003,
    first_byte_ms: 1,
    gigabytes_per_s: 5.4,
    queue_base_ms: 5,
  },
  remote_object: {
    ...PIPELINED,
    lookup_ms: 8,
    lookup_per_chunk_ms: 0.03,
    first_byte_ms: 8,
    gigabytes_per_s: 1.15,
    queue_base_ms: 20,
  },
}

export const COPIES = ['whole_layers', 'engine', 'pages', 'pageable'] as const
export type Copied = (typeof COPIES)[number]

/** What copies reach of the bus, measured on fifth-generation PCIe (an H200); `engine` end to end, as published. */
export const PCIE_SHARES: Record<Copied, number> = { whole_layers: 0.86, engine: 0.66, pages: 0.2, pageable: 0.11 }
export const PCIE_SHARE = PCIE_SHARES.engine
export const NIC_SHARE = 0.7 // RDMA; between 0.47 and 0.87 in published measurements

export const COMPRESSIONS = ['none', 'fp8', 'lz4', 'zstd', 'cachegen'] as const
export type Compression = (typeof COMPRESSIONS)[number]

/** fp8 costs nothing to undo where the engine computes on fp8. cachegen loses precision; its speed is assumed. */
export const USUAL_COMPRESSIONS: Readonly<
  Record<Compression, { ratio: number; decompress_gigabytes_per_s: number | undefined }>
> = {
  none: { ratio: 1, decompress_gigabytes_per_s: undefined },
  fp8: { ratio: 2, decompress_gigabytes_per_s: undefined },
  lz4: { ratio: 1.5, decompress_gigabytes_per_s: 3 },
  zstd: { ratio: 1.5, decompress_gigabytes_per_s: 1 },
  cachegen: { ratio: 3.5, decompress_gigabytes_per_s: 20 },
}
