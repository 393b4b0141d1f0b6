// What the settings and grown-up keys show, made over the API as an owner's browser would.
import { cookieName } from '../../src/accounts/session-cookie.ts'
import { systemClock } from '../../src/core/clock.ts'
import type { Db } from '../../src/storage/db.ts'
import { subscribe } from '../../src/subscriptions/subscription.ts'
import { subscriptionStore } from '../../src/subscriptions/subscription-store.ts'
import type { ConsoleScene } from './console-scene.ts'

let times = 0

/** R79: whoever runs the service gives it. */
async function subscribed(db: Db, project_id: string): Promise<void> {
  const asked = { plan: 'Team', provider: 'atlas', input_discount_pct: 20, allowance_tokens: 50_000_000 }
  const now = systemClock.now()
  await subscriptionStore(db).insert(subscribe(project_id, asked, now), now)
}

export async function seedSettings({ address, db }: ConsoleScene, cookie: string, key_id: string): Promise<void> {
  const headers = {
    cookie: `${cookieName(false)}=${cookie}`,
    origin: address,
    'content-type': 'application/json',
    'x-forwarded-for': '10.2.0.1',
  }
  const send = async (method: string, path: string, body: object) => {
    const answer = await fetch(`${address}${path}`, { method, headers, body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`${method} ${path}: ${await answer.text()}`)
  }
  const key = `/v2/api-keys/${key_id}`
  await send('PATCH', key, { allowed_models: ['atlas-*', 'fast'], allowed_cidrs: ['10.20.0.0/16'] })
  await send('POST', `${key}/budget`, { window: { period: 'day', limit_usd: 20 } })
  await send('POST', `${key}/rotate`, {})
  await send('POST', `${key}/children`, { name: 'run-4211', limit_usd: 1.5, ttl_seconds: 3_600 })
  await send('POST', `${key}/children`, { name: 'run-4212', limit_usd: 1, ttl_seconds: 86_400 })
  times++ // nobody gets more than a few mails an hour
  for (const [name, role] of [
    ['grace', 'member'],
    ['edsger', 'viewer'],
  ])
    await send('POST', '/v2/members/invitations', { email: `${name}.of.atlas${times}@example.com`, role })
  for (const [provider, name] of [
    ['openai', 'team key'],
    ['anthropic', 'evaluation'],
  ])
    await send('POST', '/v2/provider-credentials', {
      provider,
      name,
      secret: `sk-${name?.replace(' ', '-')}-0123456789`,
    })
  await subscribed(db(), ((await (await fetch(`${address}/v2/project`, { headers })).json()) as { id: string }).id)
  const gateway = (await (await fetch(`${address}/v2/gateway`, { headers })).json()) as {
    providers: { region: string }[]
  }
  const here = gateway.providers[0]?.region ?? 'local' // the placeholder's
  await send('POST', '/v2/project/regions', { allowed_regions: ['global', here] })
}
