// §4.9: what an estimate of cache tiers is asked with, and what it tells. Every figure of the tables can be given.
import { type Static, Type } from 'typebox'
import { Label, orNull } from '../core/shapes.ts'
import { CachePlan, CachePlanRequest, TIERS_MAX, Tier, TierVerdict } from './cache-plan.ts'
import { COMPRESSIONS, COPIES, GPUS, MODELS, TIER_KINDS } from './hardware-figures.ts'
import { ObservedPrefill } from './prefill-fit.ts'

export const PREFIX_TOKENS_MAX = 16_777_216
export const UTILIZATION_MAX = 0.95
const LARGEST = 1e15
const SMALLEST = 1e-9 // with these two, no figure of the answer can be too large for a number

const maybe = Type.Optional
const above0 = (description: string, maximum = LARGEST) => Type.Number({ minimum: SMALLEST, maximum, description })
const from0 = (description: string, maximum = LARGEST) => Type.Number({ minimum: 0, maximum, description })
const ms = (description: string) => from0(`${description}, ms.`, 1e9)
const share = (description: string) => above0(`${description} Above 0, at most 1.`, 1)
const rate = (description: string) => above0(`${description}, in gigabytes (1e9 bytes) a second.`, 1e6)

const ModelFigures = Type.Object({
  kv_bytes_per_token: maybe(above0('Size of the KV cache of one token, in bytes.', 1e9)),
  fixed_kv_bytes: maybe(from0('What of the cache does not grow with the prefix, such as windows, in bytes.', 1e12)),
  active_parameters_billions: maybe(above0('Parameters active in prefill, in billions.', 1e6)),
  attention_flops_per_pair: maybe(from0('Attention FLOPs for each pair of tokens, the causal half applied.')),
  mixture_of_experts: maybe(Type.Boolean({ description: 'Prefill of such a model reaches less of the peak.' })),
  kv_on_every_gpu: maybe(
    Type.Boolean({ description: 'Each GPU of the group loads the whole cache from host memory, as with MLA.' }),
  ),
})

const GpuAsked = Type.Object({
  type: maybe(Type.String({ maxLength: 64, description: `One of ${GPUS.map((one) => one.type).join(', ')}.` })),
  count: maybe(Type.Integer({ minimum: 1, maximum: 1_024, description: 'GPUs that share one model. Default 1.' })),
  precision: maybe(Type.Enum(['bf16', 'fp8'], { description: 'Of the weights. Default `bf16`.' })),
  bf16_tflops: maybe(above0('Dense bf16 peak of one GPU, in TFLOPS.', 1e6)),
  fp8_tflops: maybe(above0('Dense fp8 peak of one GPU, in TFLOPS.', 1e6)),
  pcie_gigabytes_per_s: maybe(rate('Between one GPU and its host, each way')),
  nic_gigabytes_per_s: maybe(rate('Network of one GPU')),
})

const Efficiency = Type.Object({
  linear: maybe(share('Share of the peak that the linear layers reach (MFU).')),
  attention: maybe(share('Share of the bf16 peak that attention reaches.')),
})

export const TierAsked = Type.Object({
  name: Label('What it is called in the answer.'),
  kind: maybe(
    Type.Enum(TIER_KINDS, { description: 'Whose usual figures stand for those not given. Default: `name`.' }),
  ),
  gigabytes_per_s: maybe(rate('Bandwidth for one GPU')),
  node_gigabytes_per_s: maybe(rate('The most that all GPUs together get')),
  path: maybe(
    Type.Enum(['direct', 'pipelined', 'serial'], {
      description: 'Straight into the GPU, or through host memory: both legs at once, or one after the other.',
    }),
  ),
  copied: maybe(
    Type.Enum(COPIES, {
      description:
        'How it is copied over PCIe, where the rate is not given: `whole_layers` from pinned memory (0.86 of the ' +
        'bus), `engine` as engines do it end to end (0.66, the default), `pages` with one copy each (0.2), ' +
        '`pageable` memory (0.11).',
    }),
  ),
  lookup_ms: maybe(ms('Cost of a look-up')),
  lookup_per_chunk_ms: maybe(ms('Cost of a look-up for each chunk')),
  chunk_tokens: maybe(Type.Integer({ minimum: 1, maximum: 1_048_576, description: 'Tokens in a chunk. Default 64.' })),
  first_byte_ms: maybe(ms('Until the first byte comes')),
  queue_base_ms: maybe(ms('Waiting on an idle tier')),
  utilization: maybe(from0(`How busy the tier is, 0 to ${UTILIZATION_MAX}. Default 0.`, UTILIZATION_MAX)),
  compression: maybe(Type.Enum(COMPRESSIONS, { description: 'How the cache is packed in the tier. Default `none`.' })),
  compression_ratio: maybe(Type.Number({ minimum: 1, maximum: 1_000, description: 'Size before over size after.' })),
  decompress_gigabytes_per_s: maybe(rate('Unpacking, measured on what comes out of it')),
})
export type TierAsked = Static<typeof TierAsked>

export const CacheEstimateRequest = Type.Object(
  {
    cluster_id: maybe(
      Type.String({
        maxLength: 64,
        description:
          'A cluster of the project: recompute is fitted from the calls of `model` there, tiers and GPUs come from ' +
          'its telemetry where they are not given. The tables stand in where too little was seen.',
      }),
    ),
    model: maybe(
      Type.String({
        maxLength: 256,
        description: `One of ${MODELS.map((one) => one.id).join(', ')}; with \`cluster_id\`, any that it serves.`,
      }),
    ),
    model_figures: maybe(ModelFigures),
    gpu: maybe(GpuAsked),
    prefix_tokens: Type.Integer({ minimum: 1, maximum: PREFIX_TOKENS_MAX, description: 'Length of the prefix.' }),
    kv_bytes_per_value: maybe(above0('Bytes of one cached value: 2 for bf16, 1 for fp8. Default 2.', 8)),
    efficiency: maybe(Efficiency),
    prefill_tokens_per_s: maybe(above0('Measured prefill of the whole group, instead of the one computed.', 1e9)),
    fixed_prefill_ms: maybe(ms('What a prefill takes however short it is; it depends on the engine. Default 0')),
    tiers: maybe(Type.Array(TierAsked, { minItems: 1, maxItems: TIERS_MAX })),
  },
  { title: 'CacheEstimateRequest' },
)
export type CacheEstimateRequest = Static<typeof CacheEstimateRequest>
/** With all that it needs: from whoever asks, or from a cluster's telemetry. */
export type WholeRequest = CacheEstimateRequest & Required<Pick<CacheEstimateRequest, 'gpu' | 'tiers'>>

const Basis = Type.Enum(['given', 'observed', 'derived', 'assumed'])
const Wins = Type.Object({
  from_tokens: Type.Integer(),
  to_tokens: orNull(Type.Integer({ description: 'Null: and any longer one.' })),
})

export const EstimatedTier = Type.Object({
  ...Tier.properties,
  ...TierVerdict.properties,
  break_even_tokens: orNull(
    Type.Integer({ description: 'From here on fetching wins at every length. Null: at none that was looked at.' }),
  ),
  wins: Type.Array(Wins, { description: 'All lengths at which fetching wins, in pages of 64 tokens from 256 on.' }),
  hit_rate_min: orNull(
    Type.Number({ description: 'Looking there pays off from this share of hits on; null where fetching loses.' }),
  ),
  basis: Type.Object({ lookup: Basis, transfer: Basis, decompression: Basis, queue_delay: Basis }),
})
export type EstimatedTier = Static<typeof EstimatedTier>

const numbers = (description: string) => Type.Array(Type.Number(), { description })

export const CacheEstimate = Type.Object(
  {
    object: Type.Literal('hicache_estimate'),
    as_of: Type.String({ description: 'The day of the tables, YYYY-MM-DD.' }),
    prefix_tokens: Type.Integer(),
    kv_bytes: Type.Number({ description: 'Size of the cached prefix, in bytes.' }),
    expected_recompute_ms: Type.Number(),
    basis: Type.Enum(['given', 'observed', 'derived'], {
      description: 'Of the recompute time: as given, from calls on the cluster, or from the tables.',
    }),
    observed: orNull(ObservedPrefill),
    recompute_margin_pct: Type.Integer({ description: 'How far off the recompute time may be, either way.' }),
    figures: Type.Object({
      kv_bytes_per_token: Type.Number(),
      fixed_kv_bytes: Type.Number(),
      active_parameters_billions: orNull(Type.Number()),
      attention_flops_per_pair: orNull(Type.Number()),
      linear_efficiency: orNull(Type.Number()),
      attention_efficiency: orNull(Type.Number()),
      prefill_tokens_per_s: Type.Number({ description: 'At this length, the fixed part included.' }),
    }),
    tiers: Type.Array(EstimatedTier),
    plan_request: CachePlanRequest,
    plan: CachePlan,
    curve: Type.Object(
      {
        prefix_tokens: numbers('Lengths, each about a fifth longer than the one before.'),
        recompute_ms: numbers('At each length.'),
        tiers: Type.Array(Type.Object({ name: Type.String(), total_ms: numbers('At each length.') })),
      },
      { description: 'Recompute and fetch against the length of the prefix.' },
    ),
    load_curve: Type.Object(
      {
        utilization: numbers('How busy the tier is.'),
        tiers: Type.Array(
          Type.Object({
            name: Type.String(),
            break_even_tokens: Type.Array(orNull(Type.Integer()), { description: 'At each utilization.' }),
          }),
        ),
      },
      { description: 'How load moves the break-even of each tier.' },
    ),
  },
  { title: 'CacheEstimate' },
)
export type CacheEstimate = Static<typeof CacheEstimate>
