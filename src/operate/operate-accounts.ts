// What an operator does to somebody's account by hand, also beside a running server: remove a second factor whose
// device and recovery codes are lost (0342). On record in every project that they belong to.
import { emailAddress } from '../accounts/account.ts'
import { accountStore } from '../accounts/account-store.ts'
import { removeSecondFactor } from '../accounts/second-factor-store.ts'
import { signInStore } from '../accounts/sign-in-store.ts'
import { systemClock } from '../core/clock.ts'
import type { Config } from '../start/config.ts'
import { OperationError } from './operate.ts'
import { onStore } from './operate-projects.ts'
import { noteDeed } from './operator-notes.ts'

export interface RemovedFactor {
  person_id: string
  email: string
  removed: true
}

export function removeFactorOf(config: Config, text: string, clock = systemClock): Promise<RemovedFactor> {
  const email = emailAddress(text, 'EMAIL')
  return onStore(config, clock, (db, now) =>
    db.transaction(async (tx) => {
      const person = await accountStore(tx).findByEmail(email)
      if (!person || !(await removeSecondFactor(tx, person.id)))
        throw new OperationError(`Nobody with the address ${email} has a second factor.`)
      for (const { id } of await signInStore(tx).projectsOf(person.id))
        await noteDeed(tx, { project_id: id, action: 'switchyard second-factor remove', target: person.id }, now)
      return { person_id: person.id, email, removed: true as const }
    }),
  )
}
