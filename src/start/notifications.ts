// Notifications, put together: what sends them, and what happens without a request.
import type { FastifyBaseLogger } from 'fastify'
import { attemptStore } from '../accounts/attempt-store.ts'
import { mailsOfProject } from '../accounts/attempts.ts'
import { type Clock, HOUR_MS, MINUTE_MS, SECOND_MS } from '../core/clock.ts'
import type { Sealing } from '../core/sealing.ts'
import { outboxStore } from '../mail/outbox-store.ts'
import { anomalyStore } from '../notifications/anomaly-store.ts'
import { channelStore } from '../notifications/channel-store.ts'
import { circuitNotices } from '../notifications/circuit-store.ts'
import { deliveryStore } from '../notifications/delivery-store.ts'
import { expiryStore } from '../notifications/expiry-store.ts'
import { queueStore, type Turn } from '../notifications/queue-store.ts'
import { refusedBudgets } from '../notifications/refused-budget-store.ts'
import type { AddressPolicy } from '../providers/address-policy.ts'
import type { ProxySettings } from '../providers/outbound-proxy.ts'
import type { Db } from '../storage/db.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { deliveryRun } from '../webhooks/delivery-run.ts'
import { type Mailing, mailSender } from '../webhooks/mail-sending.ts'
import { httpSenders, type OpenSender } from '../webhooks/webhook-sending.ts'
import type { SharedTask, Task } from './housekeeping-lease.ts'

export interface NotificationParts {
  db: Db
  clock: Clock
  logger: FastifyBaseLogger
  seals: Sealing
  policy: AddressPolicy
  proxy?: ProxySettings | undefined
  version: string
  metrics: Metrics
  mailsPerDay(db: Db, project_id: string): Promise<number>
}

export type Notifications = ReturnType<typeof notificationsOf>

export function notificationsOf(parts: NotificationParts) {
  const { db, clock, logger: log, seals, policy, proxy, version, metrics } = parts
  const queues = queueStore(db, seals)
  const byHttp = httpSenders({ policy, proxy, user_agent: `Switchyard/${version}` })
  const byMail = mailSender({ clock, post: mailing(parts) })
  const open: OpenSender = (turn, ...rest) => (turn.kind === 'mail' ? byMail(turn) : byHttp(turn, ...rest))
  const onAttempt = (kind: Turn['kind'], outcome: string) => metrics.notificationAttempts.inc({ kind, outcome })
  const run = deliveryRun({ queues, open, clock, log, onAttempt })
  const circuits = circuitNotices(db, clock)
  const budgets = refusedBudgets(db, clock)

  const tasks: Task[] = [
    { name: 'deliver notifications', every_ms: SECOND_MS, run: run.tick },
    { name: 'tell of targets left alone', every_ms: SECOND_MS, run: circuits.flush },
    { name: 'tell of budgets that refuse', every_ms: SECOND_MS, run: budgets.flush },
  ]
  const sharedTasks: SharedTask[] = [
    { name: 'tell of keys that expire', every_ms: MINUTE_MS, run: (on) => expiryStore(on).tellDue(clock.now()) },
    { name: 'look for spending anomalies', every_ms: HOUR_MS / 4, run: (on) => anomalyStore(on).look(clock.now()) },
    {
      name: 'sweep notifications',
      every_ms: MINUTE_MS,
      async run(on) {
        while (await deliveryStore(on).sweep(clock.now()));
      },
    },
    { name: 'trim notification logs', every_ms: MINUTE_MS, run: (on) => deliveryStore(on).trimLogs() },
  ]
  return {
    tasks,
    sharedTasks,
    /** What the path of a generation notes, and nothing else. */
    noted: { onCircuit: circuits.note, onBudgetRefused: budgets.note },
    nobodySends: queues.nobodySends,
    settled: run.settled,
    /** Ends what is under way, and tells what was noted. */
    async stop(): Promise<void> {
      await run.stop()
      await circuits.flush()
      await budgets.flush()
    },
  }
}

/** R78: mails count among the project's of the day; who has left the project gets none. */
function mailing({ db, seals, mailsPerDay }: NotificationParts): Mailing {
  return ({ project_id, letter, id }, now) =>
    db.transaction(async (tx) => {
      if (!(await channelStore(tx, seals).isMember(project_id, letter.to))) return 'no_member'
      const slot = await attemptStore(tx).take(mailsOfProject(await mailsPerDay(tx, project_id)), project_id, now)
      if (!slot) return 'too_many'
      await outboxStore(tx, seals).post(letter, now, id)
      return 'posted'
    })
}
