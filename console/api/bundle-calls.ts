// /v2/bundles as the console uses it.
import type { Bundle } from '../../src/bundles/bundle.ts'
import type { BundleWarmth } from '../../src/bundles/warmth.ts'
import { get } from './api-client.ts'

export type { Bundle, BundleWarmth }

export const BUNDLES_PATH = '/v2/bundles'

export const listBundles = async (signal?: AbortSignal) => (await get<{ data: Bundle[] }>(BUNDLES_PATH, signal)).data

export const bundleWarmth = (id: string, signal?: AbortSignal) =>
  get<BundleWarmth>(`${BUNDLES_PATH}/${encodeURIComponent(id)}/warmth`, signal)
