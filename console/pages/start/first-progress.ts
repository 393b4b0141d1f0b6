// How far a project has come, as the service tells it: what was done stays done, whoever did it and from where.
import { type ListedModel, listModels, theGateway } from '../../api/generation-calls.ts'
import { anyKey } from '../../api/key-calls.ts'
import { listCredentials } from '../../api/settings-calls.ts'
import { type UsageEvent, usageEvents } from '../../api/usage-calls.ts'

export interface Progress {
  has_key: boolean
  /** The latest generation. */
  latest: UsageEvent | undefined
  /** Something answers other than the placeholder. */
  is_live: boolean
  /** What may be asked for. */
  models: readonly ListedModel[]
}

export async function firstProgress(signal: AbortSignal): Promise<Progress> {
  const [has_key, [latest], gateway, credentials, models] = await Promise.all([
    anyKey(signal),
    usageEvents({ limit: '1' }, signal),
    theGateway(signal),
    listCredentials(signal),
    listModels(signal),
  ])
  const is_live = gateway.execution_mode === 'live' || credentials.some(({ status }) => status === 'active')
  return { has_key, latest, is_live, models }
}
