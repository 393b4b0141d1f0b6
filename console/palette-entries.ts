// What the search box of everything finds: pages, keys, aliases, clusters, people, requests by id, and deeds.
import type { Cluster } from './api/cluster-calls.ts'
import type { ApiKey } from './api/key-calls.ts'
import type { Alias } from './api/routing-calls.ts'
import type { Member } from './api/settings-calls.ts'
import { traceIn } from './pages/traces/trace-id.ts'

export interface Entry {
  group: string
  label: string
  hint?: string
  to: string
  /** What else it is found by. */
  words?: string
}

export interface Known {
  pages: readonly Entry[]
  keys: readonly ApiKey[]
  aliases: readonly Alias[]
  clusters: readonly Cluster[]
  people: readonly Member[]
  /** Deeds that a viewer would be refused are not offered. */
  may_manage: boolean
}

const GROUP_MAX = 8

const SETTINGS: [section: string, label: string][] = [
  ['', 'Settings: project'],
  ['/members', 'Settings: members'],
  ['/credentials', 'Settings: credentials'],
  ['/subscriptions', 'Settings: subscriptions'],
  ['/tags', 'Settings: tags and their budgets'],
  ['/purges', 'Settings: purges, erase data'],
  ['/gateway', 'Settings: gateway and limits'],
  ['/audit', 'Settings: audit log'],
  ['/account', 'Settings: your account'],
]
export const SETTINGS_ENTRIES: readonly Entry[] = SETTINGS.map(([section, label]) => ({
  group: 'Pages',
  label,
  to: `/settings${section}`,
}))

/** What can be done with a key: how it is asked for, what it is called, and the dialog on the key's page. */
const DEEDS: [asked: RegExp, label: (name: string) => string, dialog: string][] = [
  [/^(revoke|end|delete|remove)\b/i, (name) => `Revoke ${name}`, 'Revoke'],
  [/^(raise|lower|set|limit|budget)\b/i, (name) => `Raise the limit of ${name}`, 'Spending limit'],
  [/^rate\b/i, (name) => `Change the rate limits of ${name}`, 'Rate limits'],
  [/^rotate\b/i, (name) => `Rotate ${name}`, 'Rotate'],
  [/^(edit|rename)\b/i, (name) => `Edit ${name}`, 'Edit'],
]
const FILLERS = /^(the|of|limits?|budget|key|rate)\b\s*/i

const DO: readonly Entry[] = [
  { group: 'Actions', label: 'Create a key', to: '/keys?do=create', words: 'new add' },
  { group: 'Actions', label: 'Revoke a key …', hint: 'paste its secret, or type “revoke” and its name', to: '/keys' },
  {
    group: 'Actions',
    label: 'Look at what went wrong',
    to: '/requests?outcome=failed,upstream_failed,deadline_exceeded,refused',
    words: 'errors failed refused',
  },
]

export function entriesFor(text: string, known: Known): Entry[] {
  const wanted = text.trim()
  const deeds = DO.filter(({ to }) => known.may_manage || to.startsWith('/requests'))
  if (wanted === '') return [...known.pages, ...deeds]
  const trace_id = traceIn(wanted)
  const request =
    trace_id === undefined ? [] : [{ group: 'Requests', label: `Open ${trace_id}`, to: `/traces/${trace_id}` }]
  return [
    ...request,
    ...keyDeeds(wanted, known),
    ...best(known.keys.map(keyEntry), wanted),
    ...best(known.aliases.map(aliasEntry), wanted),
    ...best(known.clusters.map(clusterEntry), wanted),
    ...best(known.people.map(memberEntry), wanted),
    ...best([...known.pages, ...SETTINGS_ENTRIES], wanted),
    ...best(deeds, wanted),
  ]
}

/** “revoke nightly”, “raise the limit of nightly”. */
function keyDeeds(wanted: string, { keys, may_manage }: Known): Entry[] {
  const deed = DEEDS.find(([asked]) => asked.test(wanted))
  if (!deed || !may_manage) return []
  const [asked, , dialog] = deed
  let name = wanted.replace(asked, '').trim()
  while (FILLERS.test(name)) name = name.replace(FILLERS, '')
  const active = keys.filter(({ status }) => status === 'active')
  return best(active.map(keyEntry), name).flatMap(({ label, hint, to }) => ({
    group: 'Actions',
    label: deed[1](label),
    ...(hint !== undefined && { hint }),
    to: `${to}?do=${encodeURIComponent(dialog)}`,
  }))
}

/** A secret that was pasted is meant to end. */
export const secretEntries = ({ id, name, masked }: ApiKey, may_manage: boolean): Entry[] => [
  ...(may_manage ? [{ group: 'This secret', label: `Revoke ${name}`, hint: masked, to: `/keys/${id}?do=Revoke` }] : []),
  { group: 'This secret', label: `Open ${name}`, hint: masked, to: `/keys/${id}` },
  { group: 'This secret', label: `Requests of ${name}`, to: `/requests?key_id=${id}` },
]

const keyEntry = ({ id, name, masked, status }: ApiKey): Entry => ({
  group: 'Keys',
  label: name,
  hint: status === 'active' ? masked : status,
  to: `/keys/${id}`,
  words: `${id} ${masked}`,
})

const aliasEntry = ({ name }: Alias): Entry => ({
  group: 'Aliases',
  label: name,
  to: `/routing/${encodeURIComponent(name)}`,
})

const clusterEntry = ({ id, name, status }: Cluster): Entry => ({
  group: 'Clusters',
  label: name,
  hint: status,
  to: `/clusters/${id}`,
  words: id,
})

const memberEntry = ({ id, email = id, role }: Member): Entry => ({
  group: 'People',
  label: email,
  hint: role,
  to: '/settings/members',
})

/** Those that begin with it first, then those with a word that does, then those that have it anywhere. */
function best(entries: readonly Entry[], text: string): Entry[] {
  const wanted = text.toLowerCase()
  const ranks = entries.map((entry) => ({ entry, rank: rankOf(entry, wanted) }))
  const found = ranks.filter(({ rank }) => rank > 0).sort((a, b) => b.rank - a.rank)
  return found.slice(0, GROUP_MAX).map(({ entry }) => entry)
}

function rankOf({ label, words = '' }: Entry, wanted: string): number {
  const name = label.toLowerCase()
  if (name.startsWith(wanted)) return 3
  if (name.includes(` ${wanted}`) || name.includes(`-${wanted}`) || name.includes(`/${wanted}`)) return 2
  return `${name} ${words.toLowerCase()}`.includes(wanted) ? 1 : 0
}
