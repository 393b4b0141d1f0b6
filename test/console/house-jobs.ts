// What a full house has beside keys and usage, made over the API once its server runs: settings, bundles, channels,
// replays, purges, budgets of tags, a provider that was added; and whoever runs the service.
import { webhookReceiver } from '../support/webhook-receiver.ts'
import type { ConsoleScene } from './console-scene.ts'
import type { House } from './house.ts'
import { seedOperator } from './seed.ts'
import { seedBundles } from './seed-bundles.ts'
import { seedChannels, seedProvider, seedPurges, seedReplays, seedTagBudgets } from './seed-jobs.ts'
import { seedSettings } from './seed-settings.ts'

/** What leads to the pages of jobs, and to those of whoever runs the service. */
export type HouseJobs = Record<'channel_id' | 'replay_id' | 'operator_cookie', string>

/** `cookie`: of the owner. `provider_url`: of an upstream. */
export async function fillJobs(
  scene: ConsoleScene,
  { key_id, project_id }: House,
  { cookie, provider_url }: { cookie: string; provider_url: string },
): Promise<HouseJobs> {
  const receiver = await webhookReceiver()
  try {
    await seedSettings(scene, cookie, key_id)
    await seedBundles(scene, { cookie, project_id })
    await seedTagBudgets(scene, cookie)
    await seedPurges(scene, cookie)
    const { cookie: operator_cookie } = await seedOperator(scene.db())
    await seedProvider(scene, operator_cookie, provider_url)
    const { channel_id } = await seedChannels(scene, cookie, receiver.url)
    const { replay_id } = await seedReplays(scene, cookie)
    return { channel_id, replay_id, operator_cookie }
  } finally {
    await receiver.close()
  }
}
