// The first start: a project, its owner, one admin key (§5) and a link for whoever is to own it. Later starts make no
// more than another link, while nobody can sign in to that project.
import { emailAddress, FIRST_PROJECT_NAME, newPerson, newProject, type Project } from '../accounts/account.ts'
import { accountStore } from '../accounts/account-store.ts'
import { operatorStore } from '../accounts/operator-store.ts'
import { type MintedLink, PLACEHOLDER_EMAIL } from '../accounts/owner-link.ts'
import { ownerLinkStore } from '../accounts/owner-link-store.ts'
import { isUnverifiedClaim, takeAddressFrom } from '../accounts/unconfirmed-store.ts'
import { adoptKey, createKey, type MintedKey } from '../keys/key.ts'
import { keyStore } from '../keys/key-store.ts'
import type { Db } from '../storage/db.ts'

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

/** What the first start makes. The link comes with the project: no other replica finds the one without the other. */
export interface FirstFounded extends Founded {
  owner_link: MintedLink
}

const FIRST: Founding = { name: FIRST_PROJECT_NAME, owner_email: PLACEHOLDER_EMAIL, verified: true }

/** Several replicas may start at once on an empty store; the lock lets exactly one of them found the project. */
export async function foundFirstProject(
  db: Db,
  now: number,
  raw_key?: string,
): Promise<FirstFounded | 'exists' | 'busy'> {
  return db.transaction(async (tx) => {
    if (!(await tx.tryLock('switchyard bootstrap'))) return 'busy'
    if (await accountStore(tx).hasProjects()) return 'exists'
    const founded = await found(tx, { ...FIRST, raw_key }, now)
    return { ...founded, owner_link: await ownerLinkStore(tx).mint(founded.project.id, now) }
  })
}

/** How the first person gets into the project of the first start. */
export type OwnerAccess =
  /** There is somebody who owns it and can sign in. */
  | { kind: 'owned' }
  /** By a link that nobody was shown yet. */
  | { kind: 'link'; link: MintedLink }
  /** By one that was shown before and still works, or by one that the operator asks for. */
  | { kind: 'on_request' }

export interface AtStart {
  founded: FirstFounded | undefined
  shows_secrets: boolean
}

/** A link that was printed outlives a restart; a new one is minted once it has lapsed, by one replica. */
export async function ownerAccess(db: Db, { founded, shows_secrets }: AtStart, now: number): Promise<OwnerAccess> {
  if (founded) return shows_secrets ? { kind: 'link', link: founded.owner_link } : { kind: 'on_request' }
  const links = ownerLinkStore(db)
  const project_id = await links.firstUnowned()
  if (project_id === undefined) return { kind: 'owned' }
  const link = shows_secrets ? await links.mintIfLapsed(project_id, now) : undefined
  return link ? { kind: 'link', link } : { kind: 'on_request' }
}

export function foundProject(db: Db, founding: Founding, now: number): Promise<Founded> {
  return db.transaction((tx) => found(tx, founding, now))
}

async function found(tx: Db, { name, owner_email, verified, raw_key }: Founding, now: number): Promise<Founded> {
  const accounts = accountStore(tx)
  const known = await accounts.findByEmail(emailAddress(owner_email))
  if (known && isUnverifiedClaim(known)) await takeAddressFrom(tx, known)
  const owner = await accounts.upsertPerson(newPerson(owner_email, verified, now))
  const project = newProject(name, owner, now)
  await accounts.insertProject(project, now)
  await operatorStore(tx).appoint()
  const key = raw_key
    ? adoptKey(project.id, raw_key, now)
    : createKey(project.id, { name: 'admin', scopes: ['admin'] }, now)
  await keyStore(tx).insert(key, now)
  return { project, key }
}
