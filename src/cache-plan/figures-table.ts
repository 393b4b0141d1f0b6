// §4.9: the tables behind the estimate as clients see them, worked out for bf16 caches.
import { type Static, Type } from 'typebox'
import { orNull } from '../core/shapes.ts'
import {
  AS_OF,
  attentionFlopsPerPair,
  fixedKvBytes,
  GPUS,
  kvBytesPerToken,
  MODELS,
  NIC_SHARE,
  PCIE_SHARE,
  PCIE_SHARES,
  TIER_KINDS,
  USUAL_TIERS,
} from './hardware-figures.ts'

const BF16_BYTES = 2

export const CacheFigures = Type.Object(
  {
    object: Type.Literal('hicache_figures'),
    as_of: Type.String({ description: 'When the tables were last compared with their sources, YYYY-MM-DD.' }),
    models: Type.Array(
      Type.Object({
        id: Type.String(),
        kv_bytes_per_token: Type.Integer({ description: 'With a bf16 cache; half of it with fp8.' }),
        fixed_kv_bytes: Type.Integer({ description: 'What does not grow with the prefix.' }),
        active_parameters_billions: Type.Number(),
        attention_flops_per_pair: Type.Integer(),
        mixture_of_experts: Type.Boolean(),
        kv_on_every_gpu: Type.Boolean(),
      }),
    ),
    gpus: Type.Array(
      Type.Object({
        type: Type.String(),
        bf16_tflops: Type.Number(),
        fp8_tflops: orNull(Type.Number()),
        pcie_gigabytes_per_s: Type.Number(),
        nic_gigabytes_per_s: Type.Number(),
      }),
    ),
    pcie_shares: Type.Record(Type.String(), Type.Number(), {
      description: 'What a copy reaches of the bus, by how it is made (`tiers[].copied`).',
    }),
    tiers: Type.Array(
      Type.Object({
        kind: Type.Enum(TIER_KINDS),
        gigabytes_per_s: orNull(Type.Number({ description: 'For one GPU; null where `share_of` says of what.' })),
        share_of: orNull(
          Type.Object({ rate: Type.Enum(['pcie', 'nic']), share: Type.Number() }, { description: 'Of the GPU’s own.' }),
        ),
        node_gigabytes_per_s: orNull(
          Type.Number({ description: 'For all GPUs together; null where nothing caps it.' }),
        ),
        path: Type.Enum(['direct', 'pipelined', 'serial']),
        lookup_ms: Type.Number(),
        lookup_per_chunk_ms: Type.Number(),
        chunk_tokens: Type.Integer(),
        first_byte_ms: Type.Number(),
        queue_base_ms: Type.Number(),
      }),
    ),
  },
  { title: 'CacheFigures' },
)
export type CacheFigures = Static<typeof CacheFigures>

export function cacheFigures(): CacheFigures {
  return {
    object: 'hicache_figures',
    as_of: AS_OF,
    models: MODELS.map(({ id, attention, active_parameters_billions, mixture_of_experts }) => ({
      id,
      kv_bytes_per_token: kvBytesPerToken(attention, BF16_BYTES),
      fixed_kv_bytes: fixedKvBytes(attention, BF16_BYTES),
      active_parameters_billions,
      attention_flops_per_pair: attentionFlopsPerPair(attention),
      mixture_of_experts,
      kv_on_every_gpu: attention.kind === 'mla',
    })),
    gpus: GPUS.map(({ type, bf16_tflops, fp8_tflops = null, pcie_gigabytes_per_s, nic_gigabytes_per_s }) => ({
      type,
      bf16_tflops,
      fp8_tflops,
      pcie_gigabytes_per_s,
      nic_gigabytes_per_s,
    })),
    pcie_shares: PCIE_SHARES,
    tiers: TIER_KINDS.map((kind) => {
      const { gigabytes_per_s: rate, node_gigabytes_per_s = null, ...usual } = USUAL_TIERS[kind]
      const fixed_rate = typeof rate === 'number' ? rate : null
      return { kind, gigabytes_per_s: fixed_rate, share_of: shareOf(rate), node_gigabytes_per_s, ...usual }
    }),
  }
}

function shareOf(rate: number | 'pcie' | 'nic' | undefined): CacheFigures['tiers'][number]['share_of'] {
  if (rate === 'pcie') return { rate, share: PCIE_SHARE }
  return rate === 'nic' ? { rate, share: NIC_SHARE } : null
}
