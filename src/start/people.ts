// Accounts, the mails they send and the record they leave, put together.
import type { FastifyBaseLogger } from 'fastify'
import { type AccountNeeds, accountRequestStore, type SignInNeeds } from '../accounts/account-request-store.ts'
import { attemptStore } from '../accounts/attempt-store.ts'
import { identityStore } from '../accounts/identity-store.ts'
import { passwordsClosed } from '../accounts/issuer.ts'
import { memberStore } from '../accounts/member-store.ts'
import { ownerLinkStore } from '../accounts/owner-link-store.ts'
import { boundedPasswords, type PasswordHashing } from '../accounts/password.ts'
import { savedViewStore } from '../accounts/saved-view-store.ts'
import { signIns } from '../accounts/sign-in-hooks.ts'
import { boundTo } from '../accounts/sign-in-settings.ts'
import { signInStore } from '../accounts/sign-in-store.ts'
import { tokenStore } from '../accounts/token-store.ts'
import { noteInTheirProjects } from '../audit/audit-hooks.ts'
import { type Clock, HOUR_MS, MINUTE_MS, SECOND_MS } from '../core/clock.ts'
import type { Sealing } from '../core/sealing.ts'
import { type Deliver, toLog } from '../mail/delivery.ts'
import { outboxStore } from '../mail/outbox-store.ts'
import { sendWaiting } from '../mail/post-office.ts'
import type { Db } from '../storage/db.ts'
import { argon2 } from './argon2.ts'
import type { GatewaySettings } from './gateway-settings.ts'
import type { SharedTask, Task } from './housekeeping-lease.ts'
import { openIssuers } from './open-issuers.ts'

export interface PeopleParts {
  db: Db
  clock: Clock
  logger: FastifyBaseLogger
  seals: Sealing
  settings: Pick<GatewaySettings, 'sign_in' | 'policy' | 'proxy'>
  version: string
  public_url?: string | undefined
  local_only?: boolean | undefined
  /** Where links lead while no public address is set. */
  listeningOn(): string
  deliverMail?: Deliver | undefined
  passwordHashing?: PasswordHashing | undefined
}

export function peopleOf(parts: PeopleParts) {
  const { db, clock, logger: log, seals, public_url, local_only } = parts
  const { sign_in, policy, proxy } = parts.settings
  const needs: SignInNeeds = {
    post: (tx, letter, now) => outboxStore(tx, seals).post(letter, now),
    note: noteInTheirProjects,
    publicUrl: () => public_url ?? parts.listeningOn(),
    sign_in,
    passwordRefused(email) {
      const issuer = boundTo(sign_in.issuers, email)
      return issuer && passwordsClosed(issuer)
    },
  }
  const requests = accountRequestStore(db, needs)
  const outbox = outboxStore(db, seals)
  const deliver = parts.deliverMail ?? toLog(log)

  const tasks: Task[] = [
    { name: 'look into sign-ups and resets', every_ms: SECOND_MS, run: () => requests.resolveAll(clock.now()) },
    { name: 'send mails', every_ms: SECOND_MS, run: () => sendWaiting({ outbox, deliver, clock, log }) },
  ]
  const sharedTasks: SharedTask[] = [
    { name: 'sweep accounts', every_ms: MINUTE_MS, run: (on) => sweep(on, needs, clock.now()) },
    { name: 'forget views of nobody', every_ms: HOUR_MS, run: forgetViewsOfNobody },
  ]

  return {
    needs,
    requests,
    tasks,
    sharedTasks,
    passwords: boundedPasswords(parts.passwordHashing ?? argon2),
    signIns: signIns({ db, clock, public_url, local_only, sign_in }),
    issuerClient: openIssuers({ clock, policy, proxy, user_agent: `Switchyard/${parts.version}` }),
    seals,
  }
}

async function sweep(db: Db, needs: AccountNeeds, now: number): Promise<void> {
  while (await attemptStore(db).sweep(now));
  await accountRequestStore(db, needs).sweep(now)
  await tokenStore(db).sweep(now)
  await memberStore(db).sweep(now)
  await ownerLinkStore(db).sweep(now)
  await signInStore(db).sweep(now)
  await identityStore(db).sweep(now)
}

async function forgetViewsOfNobody(db: Db): Promise<void> {
  let after: string | undefined = ''
  while (after !== undefined) after = await savedViewStore(db).removeOfNobody(after)
}
