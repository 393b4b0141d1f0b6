// §4.9: a model on GPUs as two numbers, time per token and per pair of tokens, from the tables or from what was given.
import { Refusal } from '../core/refusal.ts'
import type { CacheEstimate, CacheEstimateRequest } from './cache-estimate-shapes.ts'
import {
  attentionFlopsPerPair,
  fixedKvBytes,
  GPUS,
  type Gpu,
  kvBytesPerToken,
  MODELS,
  type Model,
  usualEfficiency,
} from './hardware-figures.ts'

const BF16_BYTES = 2
const MARGIN_PCT = 30 // groups, experts and fp8 rest on one published throughput each
const FITTED_MARGIN_PCT = 10 // a single Hopper with a dense bf16 model was compared with a whole curve

type Figures = Omit<CacheEstimate['figures'], 'prefill_tokens_per_s'>

export interface Deployment {
  fixed_ms: number
  ms_per_token: number
  ms_per_pair: number
  margin_pct: number
  figures: Figures
  gpu_count: number
  /** Undefined where neither the table nor the request tells. */
  pcie_gigabytes_per_s: number | undefined
  nic_gigabytes_per_s: number | undefined
  /** Each GPU loads the whole cache from host memory, so that more of them do not make it faster. */
  kv_on_every_gpu: boolean
}

type Asked = CacheEstimateRequest & Required<Pick<CacheEstimateRequest, 'gpu'>>

export function deploymentOf(asked: Asked): Deployment {
  const { gpu, model_figures = {}, kv_bytes_per_value = BF16_BYTES, fixed_prefill_ms = 0 } = asked
  const known = modelOf(asked)
  const known_gpu = gpuOf(asked)
  const kv_bytes_per_token =
    model_figures.kv_bytes_per_token ?? (known && kvBytesPerToken(known.attention, kv_bytes_per_value))
  if (kv_bytes_per_token === undefined) throw missing('model_figures.kv_bytes_per_token', 'model')
  const prefill = prefillOf(asked, known, known_gpu)
  return {
    fixed_ms: fixed_prefill_ms,
    ms_per_token: prefill.ms_per_token,
    ms_per_pair: prefill.ms_per_pair,
    margin_pct: prefill.margin_pct,
    figures: {
      kv_bytes_per_token,
      fixed_kv_bytes: model_figures.fixed_kv_bytes ?? (known ? fixedKvBytes(known.attention, kv_bytes_per_value) : 0),
      ...prefill.figures,
    },
    gpu_count: gpu.count ?? 1,
    pcie_gigabytes_per_s: gpu.pcie_gigabytes_per_s ?? known_gpu?.pcie_gigabytes_per_s,
    nic_gigabytes_per_s: gpu.nic_gigabytes_per_s ?? known_gpu?.nic_gigabytes_per_s,
    kv_on_every_gpu: model_figures.kv_on_every_gpu ?? known?.attention.kind === 'mla',
  }
}

interface Prefill {
  ms_per_token: number
  ms_per_pair: number
  margin_pct: number
  figures: Omit<Figures, 'kv_bytes_per_token' | 'fixed_kv_bytes'>
}

function prefillOf(asked: Asked, known: Model | undefined, known_gpu: Gpu | undefined): Prefill {
  if (asked.prefill_tokens_per_s !== undefined) return measured(asked.prefill_tokens_per_s)
  const { gpu, model_figures = {}, efficiency = {} } = asked
  const { count = 1, precision = 'bf16' } = gpu
  const parameters = model_figures.active_parameters_billions ?? known?.active_parameters_billions
  if (parameters === undefined) throw missing('model_figures.active_parameters_billions', 'model')
  const attention_flops = model_figures.attention_flops_per_pair ?? (known ? attentionFlopsPerPair(known.attention) : 0)
  const bf16_tflops = gpu.bf16_tflops ?? known_gpu?.bf16_tflops
  if (bf16_tflops === undefined) throw missing('gpu.bf16_tflops', 'gpu.type')
  const tflops = precision === 'bf16' ? bf16_tflops : (gpu.fp8_tflops ?? known_gpu?.fp8_tflops)
  if (tflops === undefined) throw noFp8(gpu.type)
  const experts = model_figures.mixture_of_experts ?? known?.mixture_of_experts ?? false
  const usual = usualEfficiency(known_gpu?.is_hopper ?? false, experts, precision, count)
  const { linear = usual.linear, attention = usual.attention } = efficiency
  const fitted = known_gpu?.is_hopper && !experts && precision === 'bf16' && count === 1
  return {
    ms_per_token: (2e3 * parameters * 1e9) / (count * tflops * 1e12 * linear),
    ms_per_pair: (1e3 * attention_flops) / (count * bf16_tflops * 1e12 * attention),
    margin_pct: fitted ? FITTED_MARGIN_PCT : MARGIN_PCT,
    figures: {
      active_parameters_billions: parameters,
      attention_flops_per_pair: attention_flops,
      linear_efficiency: linear,
      attention_efficiency: attention,
    },
  }
}

/** What somebody measured stands for all that would be computed. */
const measured = (tokens_per_s: number): Prefill => ({
  ms_per_token: 1_000 / tokens_per_s,
  ms_per_pair: 0,
  margin_pct: FITTED_MARGIN_PCT,
  figures: {
    active_parameters_billions: null,
    attention_flops_per_pair: null,
    linear_efficiency: null,
    attention_efficiency: null,
  },
})

/** Undefined where the request tells its figures instead, under whatever name. */
function modelOf({ model: id, model_figures }: Asked): Model | undefined {
  const model = MODELS.find((one) => one.id === id)
  if (model || id === undefined || model_figures) return model
  const ids = MODELS.map((one) => one.id).join(', ')
  throw new Refusal('invalid_request', `'model' must be one of ${ids}. For any other, give 'model_figures'.`)
}

function gpuOf({ gpu: { type, bf16_tflops } }: Asked): Gpu | undefined {
  const gpu = GPUS.find((one) => one.type === type)
  if (gpu || type === undefined || bf16_tflops !== undefined) return gpu
  const types = GPUS.map((one) => one.type).join(', ')
  throw new Refusal('invalid_request', `'gpu.type' must be one of ${types}. For any other, give 'gpu.bf16_tflops'.`)
}

const missing = (field: string, instead: string) =>
  new Refusal('invalid_request', `'${field}' must be given where '${instead}' is not, or is none of the tables.`)

function noFp8(type: string | undefined): Refusal {
  if (type === undefined) return missing('gpu.fp8_tflops', 'gpu.type')
  return new Refusal('invalid_request', `'gpu.precision' must be bf16: ${type} has no fp8. Or give 'gpu.fp8_tflops'.`)
}
