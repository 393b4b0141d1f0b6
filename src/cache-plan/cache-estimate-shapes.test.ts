// §4.9: what an estimate refuses, naming the field; and that whatever it takes, it answers with numbers.
import { Value } from 'typebox/value'
import { expect, test } from 'vitest'
import { Refusal } from '../core/refusal.ts'
import { estimateCache } from './cache-estimate.ts'
import { CacheEstimateRequest, type WholeRequest } from './cache-estimate-shapes.ts'

const ALL = ['host_ram', 'local_nvme', 'remote', 'remote_3fs', 'remote_object'].map((name) => ({ name }))

function asking(more: Partial<WholeRequest> = {}): WholeRequest {
  return { model: 'llama-3.1-8b', gpu: { type: 'h100_sxm' }, prefix_tokens: 32_768, tiers: ALL, ...more }
}

const own = { kv_bytes_per_token: 1_000, active_parameters_billions: 8 }

test.each([
  ['an unknown model', { model: 'gpt-9' }, "'model'"],
  ['no model and no figures', { model: undefined }, "'model_figures.kv_bytes_per_token'"],
  [
    'half the figures',
    { model: undefined, model_figures: { kv_bytes_per_token: 1 } },
    "'model_figures.active_parameters",
  ],
  ['an unknown GPU', { gpu: { type: 'tpu' } }, "'gpu.type'"],
  ['no GPU at all', { gpu: {} }, "'gpu.bf16_tflops'"],
  ['fp8 on a GPU without it', { gpu: { type: 'a100_sxm', precision: 'fp8' } }, "'gpu.precision'"],
  ['fp8 without a figure', { gpu: { bf16_tflops: 100, precision: 'fp8' } }, "'gpu.fp8_tflops'"],
  ['no PCIe for host memory', { gpu: { bf16_tflops: 100 }, model_figures: own }, "'gpu.pcie_gigabytes_per_s'"],
  ['a tier of no known kind', { tiers: [{ name: 'tape' }] }, "'tiers[0].kind'"],
  ['a blank name', { tiers: [{ name: ' ', kind: 'remote' }] }, "'tiers[0].name'"],
  ['a ratio without a speed', { tiers: [{ name: 'remote', compression_ratio: 2 }] }, 'decompress_gigabytes_per_s'],
] as [string, object, string][])('§4.9 400 on %s, naming the field', (_case, more, named) => {
  const asked = { ...asking(), ...more } as WholeRequest
  expect(() => estimateCache(asked)).toThrow(Refusal)
  expect(() => estimateCache(asked)).toThrow(named)
})

test('§4.9 a model and a GPU that are in no table count by the figures given for them, under their own names', () => {
  const figures = { bf16_tflops: 100, pcie_gigabytes_per_s: 32, nic_gigabytes_per_s: 25 }
  const named = asking({ model: 'ours-7b', model_figures: own, gpu: { type: 'mi300x', ...figures } })
  const { model: _model, ...nameless } = { ...named, gpu: figures }
  expect(estimateCache(named)).toEqual(estimateCache(nameless))
  const half = asking({ model: 'ours-7b', model_figures: { kv_bytes_per_token: 1_000 } })
  expect(() => estimateCache(half)).toThrow("'model_figures.active_parameters_billions' must be given")
})

test.each([
  ['no tiers', { tiers: [] }],
  ['17 tiers', { tiers: Array.from({ length: 17 }, () => ({ name: 'remote' })) }],
  ['a prefix of nothing', { prefix_tokens: 0 }],
  ['a prefix beyond reason', { prefix_tokens: 16_777_217 }],
  ['a tier that is busier than 95 per cent', { tiers: [{ name: 'remote', utilization: 0.96 }] }],
  ['a negative bandwidth', { tiers: [{ name: 'remote', gigabytes_per_s: -1 }] }],
  ['an endless bandwidth', { tiers: [{ name: 'remote', gigabytes_per_s: Number.POSITIVE_INFINITY }] }],
  ['more than the whole peak', { efficiency: { linear: 1.01 } }],
])('§4.9 the shape refuses %s', (_case, more) => {
  expect(Value.Check(CacheEstimateRequest, asking())).toBe(true)
  expect(Value.Check(CacheEstimateRequest, { ...asking(), ...more })).toBe(false)
})

test('§4.9 however extreme the figures, every number of the answer is one', () => {
  const tiny = 1e-9
  const extremes = [
    { gpu: { bf16_tflops: tiny, pcie_gigabytes_per_s: tiny, nic_gigabytes_per_s: tiny }, efficiency: { linear: tiny } },
    { gpu: { bf16_tflops: 1e6, pcie_gigabytes_per_s: 1e6, nic_gigabytes_per_s: 1e6, count: 1_024 } },
    { gpu: { pcie_gigabytes_per_s: 1, nic_gigabytes_per_s: 1 }, prefill_tokens_per_s: tiny },
  ]
  const figures = [tiny, 1e6].map((size) => ({
    kv_bytes_per_token: size,
    active_parameters_billions: size,
    attention_flops_per_pair: size > 1 ? 1e15 : 0,
  }))
  for (const extreme of extremes)
    for (const model_figures of figures) {
      const asked = { ...asking({ ...extreme, prefix_tokens: 16_777_216 }), model_figures }
      expect(Value.Check(CacheEstimateRequest, asked)).toBe(true)
      expect(JSON.stringify(estimateCache(asked))).not.toMatch(
        /total_ms":(null|\[[^\]]*null)|recompute_ms":(null|\[[^\]]*null)/,
      )
    }
})
