// Every page of a project, what tells that it can be used, and what people do there most.
import type { Page } from 'playwright-core'
import type { House } from './house.ts'
import type { HouseJobs } from './house-jobs.ts'
import type { HousePage } from './page-figures.ts'

const table = (caption: string) => (page: Page) =>
  page.locator(`table:has(caption:text-is("${caption}")) tbody tr:not(.skeleton-row)`)
const button = (name: string) => (page: Page) => page.getByRole('button', { name, exact: true })
const text = (words: string) => (page: Page) => page.getByText(words)
const headline = (page: Page) => page.locator('.headline')
const chart = (page: Page) => page.locator('.series-chart .plot svg path').first()

export function housePages(house: House & HouseJobs): HousePage[] {
  const { keys, key_id, parent_id, cluster_id, trace_id, refused_id, project_id } = house
  const last = keys - 1 - Math.min(200, Math.floor(keys / 10))
  return [
    { name: 'Get started', path: '/start', shows: text('Get started') },
    {
      name: 'Overview',
      path: '/overview?range=30d',
      shows: chart,
      act: {
        name: 'change the period to 90 days',
        run: (page) => page.getByText('90 days', { exact: true }).click(),
        done: (page) => page.locator('.headline, .panels').and(page.locator(':not([role=status])')).last(),
      },
    },
    ...moneyPages(key_id),
    ...wrongPages(refused_id, key_id),
    { name: 'One trace', path: `/traces/${trace_id}`, shows: text('agent-trace-id') },
    {
      name: 'Keys',
      path: '/keys',
      shows: table('Keys'),
      act: {
        name: 'search among all',
        run: (page) => page.getByRole('searchbox').pressSequentially(`-${last}`),
        done: (page) => page.locator('table tbody tr:only-child', { hasText: `-${last}` }),
      },
    },
    {
      name: 'Keys, the last page',
      path: '/keys',
      shows: table('Keys'),
      act: { name: 'sort by spending', run: (page) => button('Spending')(page).click(), done: sorted },
    },
    {
      name: 'One key',
      path: `/keys/${key_id}`,
      shows: table('Requests'),
      act: {
        name: 'open the dialog of its limit',
        run: (page) => button('Spending limit')(page).click(),
        done: (page) => page.getByRole('dialog'),
      },
    },
    { name: 'One key with children', path: `/keys/${parent_id}`, shows: table('Child keys') },
    ...fleetPages(cluster_id),
    ...jobPages(house),
    ...settingsPages(),
    ...operatorPages(project_id),
  ]
}

const sorted = (page: Page) => page.locator('th[aria-sort=descending]')

const moneyPages = (key_id: string): HousePage[] => [
  {
    name: 'Usage, 30 days by model',
    path: '/usage?compare=yes',
    shows: chart,
    act: {
      name: 'change the period to 90 days',
      run: (page) => page.getByText('90 days', { exact: true }).click(),
      done: (page) => page.locator('.plot[aria-valuemax="89"], .plot[aria-valuemax="90"]'),
    },
  },
  { name: 'Usage, 90 days by key: each key', path: '/usage?range=90d&by=key_id', shows: table('Usage by key') },
  {
    name: 'Usage, 90 days by key',
    path: '/usage?range=90d&by=key_id',
    shows: chart,
    act: {
      name: 'next page of keys',
      run: (page) => button('Next')(page).click(),
      done: (page) => page.getByText(/^51–100 of/),
    },
  },
  {
    name: 'Usage of one key, 90 days by model',
    path: `/usage?range=90d&key_id=${key_id}`,
    shows: chart,
    act: {
      name: 'open a bar',
      run: (page) => page.locator('.plot').click(),
      done: (page) => page.getByText('Only those from'),
    },
  },
  {
    name: 'Requests',
    path: '/requests',
    shows: table('Requests'),
    act: {
      name: 'next page',
      run: (page) => button('Older')(page).click(),
      done: (page) => page.getByText('Older requests'),
    },
  },
  {
    name: 'Requests, then one',
    path: '/requests',
    shows: table('Requests'),
    act: {
      name: 'open a trace',
      run: (page) => table('Requests')(page).first().getByRole('link').first().click(),
      done: text('agent-trace-id'),
    },
  },
]

/** What went wrong, found by what people know of it. */
const wrongPages = (refused_id: string, key_id: string): HousePage[] => [
  { name: 'Requests refused', path: '/requests?outcome=refused', shows: table('Requests') },
  {
    name: 'Requests that went wrong, 7 days',
    path: '/requests?outcome=failed,upstream_failed,deadline_exceeded,refused&range=7d',
    shows: table('Requests'),
    act: {
      name: 'next page',
      run: (page) => button('Older')(page).click(),
      done: (page) => page.getByText('Older requests'),
    },
  },
  { name: 'Requests of a key', path: `/requests?key_id=${key_id}`, shows: table('Requests') },
  { name: 'Requests by tag', path: '/requests?tag=team%3Dsearch', shows: table('Requests') },
  { name: 'Requests by text of the error', path: '/requests?error=No%20such%20model', shows: table('Requests') },
  { name: 'Requests, first token from 2.9 s', path: '/requests?min_ttft_ms=2900', shows: table('Requests') },
  { name: 'One refused', path: `/traces/${refused_id}`, shows: text('Why it was refused') },
  { name: 'Usage by tag, 30 days', path: '/usage?by=tag', shows: chart },
  { name: 'Usage by bundle, 30 days', path: '/usage?by=bundle_id', shows: table('Usage by bundle') },
  { name: 'Reuse, 30 days', path: '/reuse?range=30d', shows: headline },
  { name: 'Reuse, 90 days', path: '/reuse?range=90d', shows: headline },
  {
    name: 'Search everything',
    path: '/keys',
    shows: table('Keys'),
    act: {
      name: 'find a key among all',
      async run(page) {
        await page.keyboard.press('ControlOrMeta+k')
        await page.getByRole('dialog').waitFor()
        await page.keyboard.type('research-agent-8')
      },
      done: (page) => page.getByRole('option', { name: /research-agent-8/ }).first(),
    },
  },
]

const jobPages = ({ channel_id, replay_id }: HouseJobs): HousePage[] => [
  { name: 'Alerts', path: '/alerts', shows: table('Channels') },
  { name: 'One channel', path: `/alerts/${channel_id}`, shows: table('Deliveries') },
  { name: 'Replays', path: '/replays', shows: table('Replay runs') },
  { name: 'One replay', path: `/replays/${replay_id}`, shows: text('calls compared') },
]

const operatorPages = (project_id: string): HousePage[] => [
  { name: 'Operator', path: '/operator', by: 'operator', shows: table('Projects') },
  { name: 'One project', path: `/operator/${project_id}`, by: 'operator', shows: text('of 50M tokens') },
  { name: 'Providers', path: '/providers', by: 'operator', shows: table('Providers') },
  { name: 'One provider', path: '/providers/spare', by: 'operator', shows: table('Models') },
  { name: 'Sign in', path: '/sign-in', by: 'nobody', shows: button('Sign in') },
]

const fleetPages = (cluster_id: string): HousePage[] => [
  {
    name: 'Clusters',
    path: '/clusters',
    shows: text('Last day'),
    act: {
      name: 'search among all',
      run: (page) => page.getByRole('searchbox').pressSequentially('atlas'),
      done: (page) => page.locator('.cluster-card:only-child'),
    },
  },
  { name: 'One cluster', path: `/clusters/${cluster_id}`, shows: text('active → down') },
  { name: 'Cache planner', path: '/cache-planner', shows: text('How load moves the break-even') },
  { name: 'Routing', path: '/routing', shows: text('release 2') },
  { name: 'One alias', path: '/routing/research%2Flong', shows: text('Release 2 is active') },
  { name: 'Playground', path: '/playground', shows: (page) => page.getByLabel('Message') },
]

const settingsPages = (): HousePage[] => [
  { name: 'Settings: project', path: '/settings', shows: text('Set regions') },
  { name: 'Settings: members', path: '/settings/members', shows: text('grace.of.atlas') },
  { name: 'Settings: credentials', path: '/settings/credentials', shows: text('team key') },
  { name: 'Settings: subscriptions', path: '/settings/subscriptions', shows: text('of 50M tokens') },
  { name: 'Settings: tags', path: '/settings/tags', shows: table('Budgets of tags') },
  { name: 'Settings: purges', path: '/settings/purges', shows: table('Purges') },
  { name: 'Settings: gateway', path: '/settings/gateway', shows: text('Whole answer within') },
  { name: 'Settings: audit log', path: '/settings/audit', shows: table('Audit entries') },
  { name: 'Settings: account', path: '/settings/account', shows: text('Sign out here') },
]
