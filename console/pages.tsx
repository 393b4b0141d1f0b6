// Every page and its address. A page is loaded when somebody first goes there, so that the first load stays small.
import { type ComponentType, lazy } from 'react'

interface Page {
  path: string
  Page: ComponentType<Record<string, string>>
}

/** For whoever has a link or wants in; the shell is not around them. */
export const OPEN_PAGES: readonly Page[] = [
  { path: '/sign-in', Page: lazy(() => import('./pages/accounts/sign-in-page.tsx')) },
  { path: '/sign-up', Page: lazy(() => import('./pages/accounts/sign-up-page.tsx')) },
  { path: '/forgot-password', Page: lazy(() => import('./pages/accounts/forgot-password-page.tsx')) },
  { path: '/become-owner', Page: lazy(() => import('./pages/accounts/become-owner-page.tsx')) },
  // These three are where the links in mails lead.
  { path: '/verify-email', Page: lazy(() => import('./pages/accounts/verify-email-page.tsx')) },
  { path: '/password-reset', Page: lazy(() => import('./pages/accounts/password-reset-page.tsx')) },
  { path: '/accept-invitation', Page: lazy(() => import('./pages/accounts/accept-invitation-page.tsx')) },
]

const settings = lazy(() => import('./pages/settings/settings-page.tsx')) as ComponentType<Record<string, string>>

const requests = lazy(() => import('./pages/requests/requests-page.tsx'))

/** For whoever is signed in. What stands behind a colon is handed to the page. */
export const PROJECT_PAGES: readonly Page[] = [
  { path: '/', Page: lazy(() => import('./pages/start/home-page.tsx')) },
  { path: '/start', Page: lazy(() => import('./pages/start/start-page.tsx')) },
  { path: '/overview', Page: lazy(() => import('./pages/overview/overview-page.tsx')) },
  { path: '/usage', Page: lazy(() => import('./pages/usage/usage-page.tsx')) },
  { path: '/reuse', Page: lazy(() => import('./pages/reuse/reuse-page.tsx')) },
  { path: '/requests', Page: requests },
  { path: '/traces', Page: requests }, // where links of before lead
  {
    path: '/traces/:id',
    Page: lazy(() => import('./pages/traces/trace-page.tsx')) as ComponentType<Record<string, string>>,
  },
  { path: '/keys', Page: lazy(() => import('./pages/keys/keys-page.tsx')) },
  { path: '/keys/:id', Page: lazy(() => import('./pages/keys/key-page.tsx')) as ComponentType<Record<string, string>> },
  { path: '/clusters', Page: lazy(() => import('./pages/clusters/clusters-page.tsx')) },
  { path: '/clusters/:id', Page: lazy(() => import('./pages/clusters/cluster-page.tsx')) as Page['Page'] },
  { path: '/cache-planner', Page: lazy(() => import('./pages/cache-planner/cache-planner-page.tsx')) },
  { path: '/routing', Page: lazy(() => import('./pages/routing/routing-page.tsx')) },
  { path: '/routing/:name', Page: lazy(() => import('./pages/routing/alias-page.tsx')) as Page['Page'] },
  { path: '/replays', Page: lazy(() => import('./pages/replays/replays-page.tsx')) },
  { path: '/replays/:id', Page: lazy(() => import('./pages/replays/replay-page.tsx')) as Page['Page'] },
  { path: '/alerts', Page: lazy(() => import('./pages/alerts/alerts-page.tsx')) },
  { path: '/alerts/:id', Page: lazy(() => import('./pages/alerts/channel-page.tsx')) as Page['Page'] },
  { path: '/playground', Page: lazy(() => import('./pages/playground/playground-page.tsx')) },
  { path: '/operator', Page: lazy(() => import('./pages/operator/operator-page.tsx')) },
  { path: '/operator/:id', Page: lazy(() => import('./pages/operator/tenant-page.tsx')) as Page['Page'] },
  { path: '/providers', Page: lazy(() => import('./pages/operator/providers-page.tsx')) },
  { path: '/providers/:id', Page: lazy(() => import('./pages/operator/provider-page.tsx')) as Page['Page'] },
  { path: '/settings', Page: settings },
  { path: '/settings/:section', Page: settings },
]

interface Entry {
  to: string
  label: string
  keys: string
  /** Another address whose pages belong to it. */
  also?: string
  /** R79: listed for whoever runs the service. */
  operator?: true
  /** How many things need attention stands beside it. */
  counts_attention?: true
}

/** What the side lists, in this order, and the keys that go there. Only pages that exist. */
export const NAVIGATION: readonly Entry[] = [
  { to: '/start', label: 'Get started', keys: 'g s' },
  { to: '/overview', label: 'Overview', keys: 'g o' },
  { to: '/usage', label: 'Usage', keys: 'g u' },
  { to: '/reuse', label: 'Reuse', keys: 'g e' },
  { to: '/requests', label: 'Requests', keys: 'g q', also: '/traces' },
  { to: '/keys', label: 'Keys', keys: 'g k' },
  { to: '/clusters', label: 'Clusters', keys: 'g c' },
  { to: '/cache-planner', label: 'Cache planner', keys: 'g h' },
  { to: '/routing', label: 'Routing', keys: 'g r' },
  { to: '/replays', label: 'Replays', keys: 'g y' },
  { to: '/alerts', label: 'Alerts', keys: 'g l', counts_attention: true },
  { to: '/playground', label: 'Playground', keys: 'g p' },
  { to: '/settings', label: 'Settings', keys: 'g ,' },
  { to: '/operator', label: 'Operator', keys: 'g a', operator: true },
  { to: '/providers', label: 'Providers', keys: 'g v', operator: true },
]
