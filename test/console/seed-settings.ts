// What the settings and grown-up keys show, made over the API as an owner's browser would.
import { cookieName } from '../../src/accounts/session-cookie.ts'
import type { ConsoleScene } from './console-scene.ts'

let times = 0

export async function seedSettings({ address }: ConsoleScene, cookie: string, key_id: string): Promise<void> {
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
  await send('POST', '/v2/subscriptions', {
    plan: 'Team',
    provider: 'atlas',
    input_discount_pct: 20,
    allowance_tokens: 50_000_000,
  })
  const gateway = (await (await fetch(`${address}/v2/gateway`, { headers })).json()) as {
    providers: { region: string }[]
  }
  const here = gateway.providers[0]?.region ?? 'local' // the placeholder's
  await send('POST', '/v2/project/regions', { allowed_regions: ['global', here] })
}
