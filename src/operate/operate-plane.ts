// R79: the operator's plane from the machine itself, on the store that the settings name, also beside a running server.
import { type OperatorProject, operatorsOwn } from '../accounts/operator-project.ts'
import { operatorProjectStore } from '../accounts/operator-project-store.ts'
import { type Clock, rfc3339, systemClock } from '../core/clock.ts'
import { limitMicros } from '../core/spending-limit.ts'
import { describeQuotas, type ProjectQuotas } from '../limits/operator-quota.ts'
import { QUOTA_KINDS, QUOTA_MAX, type QuotaKind } from '../limits/quota.ts'
import { quotaStore } from '../limits/quota-store.ts'
import type { Config } from '../start/config.ts'
import { gatewaySettings } from '../start/gateway-settings.ts'
import type { Db } from '../storage/db.ts'
import { type NewSubscription, type Subscription, subscribe } from '../subscriptions/subscription.ts'
import { subscriptionStore } from '../subscriptions/subscription-store.ts'
import { OperatorUsageQuery, operatorUsageQuestion, type ProjectUsage } from '../usage/operator-usage.ts'
import { operatorUsageStore } from '../usage/operator-usage-store.ts'
import { refuseUnknown } from '../usage/usage-query.ts'
import { OperationError } from './operate.ts'
import { onStore, projectNamed } from './operate-projects.ts'
import { noteDeed } from './operator-notes.ts'

/** Oldest first: the operator's own is at the top. */
export function listAll(config: Config, clock = systemClock): Promise<OperatorProject[]> {
  return onStore(config, clock, async (db) => (await gathered(operatorProjectStore(db).listAll())).reverse())
}

/** `project`: an id or a name. */
export function show(config: Config, project: string, clock = systemClock): Promise<OperatorProject> {
  return onStore(config, clock, async (db) => found(db, (await projectNamed(db, project)).id))
}

/** What can be set for a project; each by itself. */
export type Setting =
  | { kind: 'cap'; limit_usd: number | null }
  | { kind: 'share'; share: number }
  | { kind: 'suspend' }
  | { kind: 'resume' }

const SHARE_MAX = 1_000

export function set(config: Config, project: string, setting: Setting, clock = systemClock): Promise<OperatorProject> {
  return changing(config, { project, action: `project ${setting.kind}` }, clock, async (tx, id, now) => {
    const store = operatorProjectStore(tx)
    if (setting.kind === 'cap') await store.setCap(id, limitMicros(setting) ?? null)
    else if (setting.kind === 'resume') await store.resume(id)
    else if (setting.kind === 'share') await store.setShare(id, shareIn(setting.share))
    else if (!(await store.suspend(id, rfc3339(now)))) throw operatorsOwn()
    return found(tx, id)
  })
}

function shareIn(share: number): number {
  if (share < 1 || share > SHARE_MAX) throw new OperationError(`A share must be between 1 and ${SHARE_MAX}.`)
  return share
}

export function quotas(config: Config, project: string, clock = systemClock): Promise<ProjectQuotas> {
  return onStore(config, clock, async (db) => quotasOf(db, config, (await projectNamed(db, project)).id))
}

/** By kind; null gives it what every project has. */
export type QuotaChanges = Readonly<Record<string, number | null>>

export function setQuotas(
  config: Config,
  project: string,
  changes: QuotaChanges,
  clock = systemClock,
): Promise<ProjectQuotas> {
  return changing(config, { project, action: 'project quota' }, clock, async (tx, id) => {
    for (const [kind, max] of Object.entries(changes)) await quotaStore(tx).setMax(id, kindIn(kind), boundIn(max))
    return quotasOf(tx, config, id)
  })
}

function kindIn(text: string): QuotaKind {
  const kind = QUOTA_KINDS.find((one) => one === text)
  if (!kind) throw new OperationError(`There is no quota '${text}'. There are: ${QUOTA_KINDS.join(', ')}.`)
  return kind
}

function boundIn(max: number | null): number | null {
  if (max !== null && max > QUOTA_MAX) throw new OperationError(`A quota must be at most ${QUOTA_MAX}.`)
  return max
}

const quotasOf = async (db: Db, config: Config, id: string) =>
  describeQuotas(id, await quotaStore(db).own(id), gatewaySettings(config).quotas)

export function subscriptions(config: Config, project: string, clock = systemClock): Promise<Subscription[]> {
  return onStore(config, clock, async (db) => subscriptionStore(db).list((await projectNamed(db, project)).id))
}

export function addSubscription(
  config: Config,
  project: string,
  asked: NewSubscription,
  clock = systemClock,
): Promise<Subscription> {
  return changing(config, { project, action: 'subscription create' }, clock, async (tx, id, now) => {
    if (asked.input_discount_pct > 100) throw new OperationError('A discount must be between 0 and 100.')
    const subscription = subscribe(id, asked, now)
    await subscriptionStore(tx).insert(subscription, now)
    return subscription
  })
}

export function cancelSubscription(
  config: Config,
  project: string,
  subscription_id: string,
  clock = systemClock,
): Promise<Subscription> {
  return changing(config, { project, action: 'subscription cancel' }, clock, async (tx, id) => {
    const cancelled = await subscriptionStore(tx).cancel(id, subscription_id)
    if (!cancelled) throw new OperationError(`The project has no subscription '${subscription_id}'.`)
    return cancelled
  })
}

/** The filters of `GET /v2/operator/usage`; `project_id` may be a name as well. */
export function usage(
  config: Config,
  { project_id: project, ...query }: Record<string, string>,
  clock = systemClock,
): Promise<ProjectUsage[]> {
  return onStore(config, clock, async (db) => {
    refuseUnknown(query, OperatorUsageQuery)
    const only = project === undefined ? {} : { project_id: (await projectNamed(db, project)).id }
    return gathered(operatorUsageStore(db).byProject(operatorUsageQuestion({ ...query, ...only })))
  })
}

interface Deed {
  project: string
  /** As it is typed after `switchyard operator`. */
  action: string
}

type Changing<T> = (tx: Db, project_id: string, now: number) => Promise<T>

/** The change and its entries in one transaction. */
function changing<T extends object>(config: Config, deed: Deed, clock: Clock, work: Changing<T>): Promise<T> {
  return onStore(config, clock, (db, now) =>
    db.transaction(async (tx) => {
      const { id: project_id } = await projectNamed(tx, deed.project)
      const result = await work(tx, project_id, now)
      const target = 'id' in result && typeof result.id === 'string' ? result.id : project_id
      await noteDeed(tx, { project_id, action: `switchyard operator ${deed.action}`, target }, now)
      return result
    }),
  )
}

async function found(db: Db, id: string): Promise<OperatorProject> {
  const project = await operatorProjectStore(db).find(id)
  if (!project) throw new Error(`project ${id} is gone`)
  return project
}

async function gathered<Item>(batches: AsyncIterable<readonly Item[]>): Promise<Item[]> {
  const all: Item[] = []
  for await (const batch of batches) all.push(...batch)
  return all
}
