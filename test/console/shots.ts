// `npm run console:shots`: every page, light and dark, wide and narrow, into docs/console/.
import { mkdirSync, writeFileSync } from 'node:fs'
import { HOUR_MS } from '../../src/core/clock.ts'
import { webhookReceiver } from '../support/webhook-receiver.ts'
import { commonChromium } from './chromium.ts'
import { consoleScene, type Visit } from './console-scene.ts'
import { modelUpstream } from './model-upstream.ts'
import { withPalette } from './palette-png.ts'
import { type SeededKey, seedKeys, seedOperator, seedOwner, seedSpending, seedUsage } from './seed.ts'
import { seedFleet, seedRouting } from './seed-fleet.ts'
import { seedChannels, seedProvider, seedPurges, seedReplays, seedTagBudgets, untilFailing } from './seed-jobs.ts'
import { seedSettings } from './seed-settings.ts'
import { seedFailed, seedRefusals, seedRefused, seedTrace, seedTraffic } from './traffic.ts'

const FOLDER = 'docs/console'
const SIZES = { wide: { width: 1280, height: 800 }, narrow: { width: 360, height: 740 } }

const DAY_MS = 24 * HOUR_MS
const days = (made: number, used: number) => ({ made_ms_ago: made * DAY_MS, used_ms_ago: used * DAY_MS })

const KEYS: SeededKey[] = [
  { name: 'research-agent', spent_micros: 418_420_000, budget_micros: 500_000_000, ...days(96, 0) },
  { name: 'support-triage', spent_micros: 46_100_000, budget_micros: 50_000_000, ...days(19, 0.002) },
  { name: 'nightly-eval', spent_micros: 10_000_000, budget_micros: 10_000_000, ...days(40, 0.4) },
  { name: 'ci', spent_micros: 412_300, ...days(64, 1.1) },
  { name: 'grafana', ...days(120, 0.0005) },
  { name: 'laptop of last summer', spent_micros: 3_140_000, ...days(400, 90), revoked: true },
]

interface Shot {
  name: string
  path: string
  signed_in?: boolean
  /** What somebody does before the picture is taken. */
  act?(visit: Visit): Promise<void>
  ready: string
}

type Jobs = Record<'channel_id' | 'failing_id' | 'replay_id' | 'planned_id', string>
type Seeded = Jobs & Record<'key_id' | 'cluster_id' | 'trace_id' | 'refused_id' | 'project_id', string>

const shotsOf = ({ key_id, cluster_id, trace_id, refused_id, project_id, ...jobs }: Seeded): Shot[] => [
  { name: 'sign-in', path: '/sign-in', ready: 'Forgot your password?' },
  { name: 'sign-up', path: '/sign-up', ready: 'Sign in instead' },
  { name: 'forgot-password', path: '/forgot-password', ready: 'Send the link' },
  { name: 'verify-email', path: '/verify-email#token=x', ready: 'Confirm' },
  { name: 'password-reset', path: '/password-reset#token=x', ready: 'Change password' },
  { name: 'accept-invitation', path: '/accept-invitation#token=x', ready: 'Accept' },
  { name: 'become-owner', path: '/become-owner#token=x', ready: 'Become the owner' },
  {
    name: 'start',
    path: '/start',
    signed_in: true,
    ready: 'Waiting for your first request',
    act: ({ page }) => page.getByRole('button', { name: 'Make a key' }).click(),
  },
  { name: 'overview', path: '/overview?range=7d', signed_in: true, ready: 'Time to first token' },
  { name: 'usage', path: '/usage?compare=yes', signed_in: true, ready: 'claude-sonnet-4' },
  { name: 'reuse', path: '/reuse?range=30d', signed_in: true, ready: 'What to do next' },
  { name: 'requests', path: '/requests?range=7d', signed_in: true, ready: 'CUDA out of memory' },
  { name: 'trace', path: `/traces/${trace_id}`, signed_in: true, ready: 'Headers of the answer' },
  { name: 'request-refused', path: `/traces/${refused_id}`, signed_in: true, ready: 'Why it was refused' },
  { name: 'keys', path: '/keys', signed_in: true, ready: 'research-agent' },
  { name: 'key', path: `/keys/${key_id}`, signed_in: true, ready: 'Latest requests' },
  {
    name: 'search',
    path: '/keys',
    signed_in: true,
    ready: 'Raise the limit of nightly-eval',
    async act({ page }) {
      await page.getByText('research-agent').first().waitFor()
      await page.keyboard.press('ControlOrMeta+k')
      await page.getByRole('dialog').waitFor()
      await page.keyboard.type('raise the limit of night')
    },
  },
  {
    name: 'key-create',
    path: '/keys',
    signed_in: true,
    ready: 'What it may do',
    act: ({ page }) => page.getByRole('button', { name: 'Create key' }).click(),
  },
  {
    name: 'key-revoke',
    path: `/keys/${key_id}`,
    signed_in: true,
    ready: 'stops working at once',
    act: ({ page }) => page.getByRole('button', { name: 'Revoke' }).click(),
  },
  {
    name: 'key-edit',
    path: `/keys/${key_id}`,
    signed_in: true,
    ready: 'Allowed networks',
    act: ({ page }) => page.getByRole('button', { name: 'Edit' }).click(),
  },
  {
    name: 'key-limits',
    path: `/keys/${key_id}`,
    signed_in: true,
    ready: 'Single models',
    async act({ page }) {
      await page.getByRole('button', { name: 'Rate limits' }).click()
      await page.getByRole('button', { name: 'Add model' }).click()
      await page.getByLabel('Model', { exact: true }).fill('gpt-4o*')
    },
  },
  {
    name: 'key-rotate',
    path: `/keys/${key_id}`,
    signed_in: true,
    ready: 'Both secrets work for',
    act: ({ page }) => page.getByRole('button', { name: 'Rotate' }).click(),
  },
  { name: 'playground', path: '/playground', signed_in: true, ready: 'agent-trace-id', act: chat },
  { name: 'settings', path: '/settings', signed_in: true, ready: 'Set regions' },
  { name: 'settings-members', path: '/settings/members', signed_in: true, ready: 'grace.of.atlas' },
  { name: 'settings-credentials', path: '/settings/credentials', signed_in: true, ready: 'team key' },
  { name: 'settings-subscriptions', path: '/settings/subscriptions', signed_in: true, ready: 'of 50M tokens' },
  { name: 'settings-tags', path: '/settings/tags', signed_in: true, ready: 'team=search' },
  { name: 'settings-purges', path: '/settings/purges', signed_in: true, ready: 'succeeded' },
  { name: 'settings-gateway', path: '/settings/gateway', signed_in: true, ready: 'Whole answer within' },
  { name: 'settings-audit', path: '/settings/audit', signed_in: true, ready: 'Every change that only' },
  { name: 'settings-account', path: '/settings/account', signed_in: true, ready: 'Sign out here' },
  { name: 'operator', path: '/operator', signed_in: true, ready: '90 days' },
  { name: 'providers', path: '/providers', signed_in: true, ready: 'spare' },
  { name: 'provider', path: '/providers/spare', signed_in: true, ready: 'Versions' },
  {
    name: 'provider-change',
    path: '/providers/spare',
    signed_in: true,
    ready: 'Left empty',
    act: ({ page }) => page.getByRole('button', { name: 'Change', exact: true }).click(),
  },
  { name: 'operator-project', path: `/operator/${project_id}`, signed_in: true, ready: 'of 50M tokens' },
  ...fleetShots(cluster_id),
  ...jobShots(jobs),
]

const jobShots = ({ channel_id, failing_id, replay_id, planned_id }: Jobs): Shot[] => [
  { name: 'alerts', path: '/alerts', signed_in: true, ready: '#agents' },
  { name: 'alert-channel', path: `/alerts/${channel_id}`, signed_in: true, ready: 'delivered' },
  { name: 'alert-channel-failing', path: `/alerts/${failing_id}`, signed_in: true, ready: 'failing' },
  {
    name: 'alert-create',
    path: '/alerts',
    signed_in: true,
    ready: 'signed as Standard Webhooks says',
    act: ({ page }) => page.getByRole('button', { name: 'Add channel' }).click(),
  },
  { name: 'replays', path: '/replays', signed_in: true, ready: 'completed' },
  { name: 'replay', path: `/replays/${replay_id}`, signed_in: true, ready: 'calls compared' },
  { name: 'replay-planned', path: `/replays/${planned_id}`, signed_in: true, ready: 'At the most' },
  {
    name: 'replay-plan',
    path: '/replays',
    signed_in: true,
    ready: 'With a control arm',
    act: ({ page }) => page.getByRole('button', { name: 'Plan a replay' }).click(),
  },
  { name: 'no-such-project', path: '/prj_nowhere/keys', signed_in: true, ready: 'You have no such project' },
]

const fleetShots = (cluster_id: string): Shot[] => [
  { name: 'clusters', path: '/clusters', signed_in: true, ready: 'Last day' },
  { name: 'cluster', path: `/clusters/${cluster_id}`, signed_in: true, ready: 'active → down' },
  {
    name: 'cluster-deregister',
    path: `/clusters/${cluster_id}`,
    signed_in: true,
    ready: 'nothing goes to',
    act: ({ page }) => page.getByRole('button', { name: 'Deregister' }).click(),
  },
  { name: 'cache-planner', path: '/cache-planner', signed_in: true, ready: 'Fetch from host_ram' },
  {
    name: 'cache-estimate',
    path: '/cache-planner',
    signed_in: true,
    ready: 'How load moves the break-even',
    async act({ page }) {
      await page.getByText('Estimate the costs').waitFor()
      const folded = page.getByRole('button', { name: 'Estimate the costs', expanded: false })
      if (await folded.isVisible()) await folded.click()
      await page.getByText('How load moves the break-even').first().waitFor()
      await page.getByRole('button', { name: 'Use these costs' }).evaluate((button) => button.scrollIntoView())
    },
  },
  { name: 'routing', path: '/routing', signed_in: true, ready: 'release 2' },
  {
    name: 'alias',
    path: '/routing/research%2Flong',
    signed_in: true,
    ready: 'Release 2 is active',
  },
  {
    name: 'route-explain',
    path: '/routing',
    signed_in: true,
    ready: 'left out',
    async act({ page }) {
      await page.getByLabel('Model or alias').fill('qwen3-32b')
      await page.getByRole('button', { name: 'Explain' }).click()
      await page.getByText('The same as a request').scrollIntoViewIfNeeded()
    },
  },
  {
    name: 'alias-activate',
    path: '/routing/research%2Flong',
    signed_in: true,
    ready: 'From the next request on',
    act: ({ page }) => page.getByRole('button', { name: 'Activate release 3' }).click(),
  },
  {
    name: 'alias-create',
    path: '/routing',
    signed_in: true,
    ready: 'Target 1',
    act: ({ page }) => page.getByRole('button', { name: 'Create alias' }).click(),
  },
]

async function chat({ page }: Visit): Promise<void> {
  await page.getByLabel('System prompt').fill('You explain networks to engineers, briefly.')
  await page.getByLabel('Class').selectOption('interactive')
  await page.getByLabel('First token').fill('500')
  await page.getByLabel('Message').fill('What does a router do?')
  await page.keyboard.press('Enter')
  await page.getByText('Charged', { exact: true }).waitFor()
}

mkdirSync(FOLDER, { recursive: true })
const upstream = await modelUpstream({ records: true })
const receiver = await webhookReceiver()
const scene = await consoleScene(upstream.env)
const replaying = await seedOwner(scene.db()) // whose calls are not among those of the other pages
try {
  const { project_id, cookie } = await seedOwner(scene.db())
  const key_ids = await seedKeys(scene.db(), project_id, KEYS)
  const [key_id = ''] = key_ids
  await seedUsage(scene.db(), project_id, key_id)
  await seedTraffic(scene.db(), project_id, key_ids.slice(0, 4), 60)
  await seedRefusals(scene.db(), project_id)
  const trace_id = await seedTrace(scene.db(), project_id, key_id)
  const refused_id = await seedRefused(scene.db(), project_id, key_id)
  await seedFailed(scene.db(), project_id)
  await seedSpending(scene.db(), project_id)
  await seedSettings(scene, cookie, key_id)
  const cluster_id = (await seedFleet(scene.db(), project_id)).at(-1) ?? ''
  await seedRouting(scene.db(), project_id, cluster_id)
  const channels = await seedChannels(scene, cookie, receiver.url)
  const replays = await seedReplays(scene, replaying.cookie)
  await seedTagBudgets(scene, cookie)
  await seedPurges(scene, cookie)
  await seedProvider(scene, (await seedOperator(scene.db())).cookie, upstream.base_url)
  await untilFailing(scene, cookie, 2)
  const only = process.argv.slice(2)
  for (const shot of shotsOf({ key_id, cluster_id, trace_id, refused_id, project_id, ...channels, ...replays }))
    if (only.length === 0 || only.includes(shot.name)) await take(shot, cookie)
} finally {
  await scene.stop()
  await (await commonChromium()).close()
  await upstream.close()
  await receiver.close()
}

/** R79: the pages of whoever runs the service are of another person. */
async function whose(name: string, cookie: string): Promise<{ cookie: string }> {
  if (name === 'start') return seedOwner(scene.db())
  if (name.startsWith('replay')) return replaying
  return name.startsWith('operator') || name.startsWith('provider') ? seedOperator(scene.db()) : { cookie }
}

async function take({ name, path, signed_in, act, ready }: Shot, cookie: string): Promise<void> {
  // The page of the first steps belongs to somebody who has not taken them.
  const { cookie: who } = await whose(name, cookie)
  for (const [size, viewport] of Object.entries(SIZES))
    for (const colorScheme of ['light', 'dark'] as const) {
      const options = { viewport, colorScheme, reducedMotion: 'reduce' as const, ...(signed_in && { cookie: who }) }
      const visit = await scene.visit(path, options)
      await act?.(visit)
      await visit.page.getByText(ready).first().waitFor()
      await visit.page.waitForLoadState('networkidle')
      const fullPage = size === 'narrow' && name !== 'requests' && (act === undefined || act === chat)
      writeFileSync(
        `${FOLDER}/${name}-${size}-${colorScheme}.png`,
        withPalette(await visit.page.screenshot({ fullPage })),
      )
      if (visit.heard.length > 0) process.stdout.write(`${name}: ${visit.heard.join('\n')}\n`)
      await visit.close()
    }
  process.stdout.write(`${name}\n`)
}
