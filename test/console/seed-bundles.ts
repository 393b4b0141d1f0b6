// Bundles of a project, made over the API as an owner's browser would, and calls that were made with them.
import { cookieName } from '../../src/accounts/session-cookie.ts'
import { rfc3339, systemClock } from '../../src/core/clock.ts'
import { usageStore } from '../../src/usage/usage-store.ts'
import { usageEvent } from '../support/usage-events.ts'
import type { ConsoleScene } from './console-scene.ts'

const NAMES = ['support triage', 'code review']
const OWN = { cluster_id: 'byc_1', provider: 'atlas', profile: 'byoc_native', resolved_model: 'llama-3.3-70b' } as const
const MINUTE_MS = 60_000

/** Two bundles; the older was used six times, the last of them on a cluster that had 90% of it. Their ids, oldest first. */
export async function seedBundles({ address, db }: ConsoleScene, of: { cookie: string; project_id: string }) {
  const headers = { cookie: `${cookieName(false)}=${of.cookie}`, origin: address, 'x-forwarded-for': '10.2.0.2' }
  const made = async (path: string, body: FormData | string): Promise<string> => {
    const type = typeof body === 'string' ? { 'content-type': 'application/json' } : {}
    const answer = await fetch(`${address}${path}`, { method: 'POST', headers: { ...headers, ...type }, body })
    if (!answer.ok) throw new Error(`POST ${path}: ${await answer.text()}`)
    return ((await answer.json()) as { id: string }).id
  }
  const ids: string[] = []
  for (const name of NAMES) {
    const form = new FormData()
    form.set('kind', 'text')
    form.set('file', new Blob([`How we do ${name}. `.repeat(200)], { type: 'text/plain' }), 'instructions.txt')
    const items = [{ artifact_id: await made('/v2/artifacts', form), role: 'system' }]
    ids.push(await made('/v2/bundles', JSON.stringify({ name, items })))
  }
  for (let at = 0; at < 6; at++)
    await usageStore(db()).insert(
      usageEvent(of.project_id, {
        ...(at % 2 === 0 && OWN),
        ...{ bundle_id: ids[0] ?? '', input_tokens: 1_000, cached_tokens: 900 - at * 100 },
        created_at: rfc3339(systemClock.now() - (at + 3) * MINUTE_MS),
      }),
    )
  return ids
}
