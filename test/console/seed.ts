// What pages show, put straight into the store: people who are signed in, keys by the thousand, weeks of usage.
import { accountStore } from '../../src/accounts/account-store.ts'
import { signInStore } from '../../src/accounts/sign-in-store.ts'
import { HOUR_MS, rfc3339, systemClock } from '../../src/core/clock.ts'
import { createKey } from '../../src/keys/key.ts'
import { keyStore } from '../../src/keys/key-store.ts'
import { argon2 } from '../../src/start/argon2.ts'
import { foundProject } from '../../src/start/bootstrap.ts'
import { type Db, sql } from '../../src/storage/db.ts'
import { usageStore } from '../../src/usage/usage-store.ts'
import { usageEvent } from '../support/usage-events.ts'

export const PASSWORD = 'correct horse battery'

const now = () => systemClock.now()
let people = 0
let hashed: Promise<string> | undefined // everybody's: a hash takes long on purpose

/** An owner of a project, signed in; their password works too. */
export async function seedOwner(db: Db, { verified = true, name = 'Atlas' } = {}) {
  const email = `ada${++people}@example.com`
  const { project } = await foundProject(db, { name, owner_email: email, verified }, now())
  const person_id = project.owner_id
  hashed ??= argon2.hash(PASSWORD)
  if (verified) await accountStore(db).setPassword(person_id, await hashed, rfc3339(now()))
  await db.rows(sql`DELETE FROM api_key WHERE project_id = ${project.id}`) // what the founding made is in nobody's hands
  const { secret: cookie } = await signInStore(db).begin(person_id, project.id, now())
  return { email, person_id, project_id: project.id, cookie }
}

/** R79: an owner of the project that the first start made, signed in to it: whoever runs the service. */
export async function seedOperator(db: Db) {
  const [row] = await db.rows<{ value: string }>(sql`SELECT value FROM setting WHERE name = 'operator_project'`)
  const project_id = row?.value ?? ''
  return { project_id, ...(await seedMember(db, project_id)) }
}

/** Another owner of a project, signed in to it. */
export async function seedMember(db: Db, project_id: string) {
  const { person_id, email } = await seedOwner(db)
  await db.rows(sql`
    INSERT INTO membership (project_id, person_id, role, created_at, sequence)
    VALUES (${project_id}, ${person_id}, 'owner', ${rfc3339(now())}, ${now()})`)
  const { secret: cookie } = await signInStore(db).begin(person_id, project_id, now())
  return { email, person_id, cookie }
}

export interface SeededKey {
  name: string
  spent_micros?: number
  budget_micros?: number
  used_ms_ago?: number
  made_ms_ago?: number
  revoked?: boolean
}

/** The first is the newest. Returns their ids, in the same order. */
export async function seedKeys(db: Db, project_id: string, keys: readonly SeededKey[]): Promise<string[]> {
  const ids: string[] = []
  await db.transaction(async (tx) => {
    for (const key of keys.toReversed()) {
      const minted = createKey(project_id, { name: key.name }, now() - (key.made_ms_ago ?? 0))
      const { id } = minted.api_key
      await keyStore(tx).insert(minted, now() - (key.made_ms_ago ?? 0))
      const used = key.used_ms_ago === undefined ? null : rfc3339(now() - key.used_ms_ago)
      await tx.rows(sql`
        UPDATE api_key SET spent_micros = ${key.spent_micros ?? 0}, budget_micros = ${key.budget_micros ?? null},
          last_used_at = ${used} WHERE id = ${id}`)
      if (key.revoked) await keyStore(tx).revoke(project_id, id)
      ids.unshift(id)
    }
  })
  return ids
}

/** What the project as a whole has spent, what it holds, and its cap. */
export async function seedSpending(db: Db, project_id: string): Promise<void> {
  await db.rows(sql`
    UPDATE project SET spent_micros = 478072300, held_micros = 1250000, cap_micros = 1000000000
    WHERE id = ${project_id}`)
}

/** A month of generations by one key, more of them on some days than on others. */
export async function seedUsage(db: Db, project_id: string, key_id: string): Promise<void> {
  await db.transaction(async (tx) => {
    for (let hours_ago = 0; hours_ago < 30 * 24; hours_ago += 5)
      await usageStore(tx).insert(
        usageEvent(project_id, {
          key_id,
          created_at: rfc3339(now() - hours_ago * HOUR_MS),
          charged_micros: 20_000 + 9_000 * ((hours_ago * 7) % 11),
          input_tokens: 1_200 + 90 * (hours_ago % 17),
          status: hours_ago % 45 === 0 && hours_ago > 0 ? 'upstream_failed' : 'completed',
        }),
      )
  })
}
