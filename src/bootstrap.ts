// The first start: a project, its verified owner and one admin key (§5). Later starts make nothing.
import { emailAddress, FIRST_PROJECT_NAME, newPerson, newProject, type Project } from './accounts/account.ts'
import { accountStore } from './accounts/account-store.ts'
import { mayBeAStrangers, takeAddressFrom } from './accounts/unconfirmed-store.ts'
import { adoptKey, createKey, type MintedKey } from './keys/key.ts'
import { keyStore } from './keys/key-store.ts'
import type { Db } from './storage/db.ts'

export interface Founding {
  name: string
  owner_email: string
  verified: boolean
  /** A raw key that the operator chose; otherwise one is minted. */
  raw_key?: string | undefined
}

export interface Founded {
  project: Project
  key: MintedKey
}

const FIRST: Founding = { name: FIRST_PROJECT_NAME, owner_email: 'owner@switchyard.local', verified: true }

/** Several replicas may start at once on an empty store; the lock lets exactly one of them found the project. */
export async function foundFirstProject(db: Db, now: number, raw_key?: string): Promise<Founded | 'exists' | 'busy'> {
  return db.transaction(async (tx) => {
    if (!(await tx.tryLock('switchyard bootstrap'))) return 'busy'
    if (await accountStore(tx).hasProjects()) return 'exists'
    return found(tx, { ...FIRST, raw_key }, now)
  })
}

export function foundProject(db: Db, founding: Founding, now: number): Promise<Founded> {
  return db.transaction((tx) => found(tx, founding, now))
}

async function found(tx: Db, { name, owner_email, verified, raw_key }: Founding, now: number): Promise<Founded> {
  const accounts = accountStore(tx)
  const known = await accounts.findByEmail(emailAddress(owner_email))
  if (known && mayBeAStrangers(known)) await takeAddressFrom(tx, known)
  const owner = await accounts.upsertPerson(newPerson(owner_email, verified, now))
  const project = newProject(name, owner, now)
  await accounts.insertProject(project, now)
  const key = raw_key
    ? adoptKey(project.id, raw_key, now)
    : createKey(project.id, { name: 'admin', scopes: ['admin'] }, now)
  await keyStore(tx).insert(key, now)
  return { project, key }
}
