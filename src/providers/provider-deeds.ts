// 0343: what may be done to a provider over the API, and when it is refused. Each is one transaction, which its caller
// has opened; whatever changes begins with the revision, so two of them never run at once.
import { Refusal } from '../core/refusal.ts'
import type { PriceBook } from '../models/price-book.ts'
import {
  apart,
  type ChangeKind,
  type Entered,
  fieldsChanged,
  PROVIDERS_MAX,
  type Secrets,
  usable,
} from './operator-provider.ts'
import type { NextVersion, OperatorProviderStore, ProviderStatus, StoredProvider } from './operator-provider-store.ts'
import { isStale } from './provider-precondition.ts'

/** Who does it, when, and which version they saw. */
export interface Doing {
  actor: string
  now: number
  seen?: number | undefined
}

/** What stands in the file, or comes from the environment. */
export interface FileProviders {
  has(id: string): boolean
  /** How many there are. */
  count(): number
  /** What stands there, in words. */
  place(): string
  /** With what the price file says, which it names. */
  prices(): PriceBook
}

/** All of it, secrets included. */
export const wholeOf = ({ entered, secrets }: { entered: Entered; secrets: Secrets }): Entered => ({
  ...entered,
  ...secrets,
})

export function providerDeeds(store: OperatorProviderStore, file: FileProviders) {
  async function present(id: string, { seen }: Doing): Promise<StoredProvider> {
    const stored = await store.find(id)
    if (!stored) throw unknownProvider(id)
    if (seen !== undefined && seen !== stored.version) throw isStale(id, stored.version)
    return stored
  }

  async function put(id: string, next: Omit<NextVersion, 'actor'>, revision: number, { actor, now }: Doing) {
    await store.put(id, { ...next, actor }, revision, now)
    const stored = await store.find(id)
    if (!stored) throw new Error('a provider that was written is not there')
    return stored
  }

  async function alter(id: string, doing: Doing, change: ChangeKind, altered: (whole: Entered) => Entered) {
    assertNotInFile(id)
    const revision = await store.beginChange()
    const stored = await present(id, doing)
    const before = wholeOf(stored)
    const after = altered(before)
    usable(after, file.prices())
    const fields = fieldsChanged(before, after)
    const unchanged = fields.length === 0 && change === 'changed'
    if (unchanged) return stored
    return put(id, { status: stored.status, ...apart(after), change, fields }, revision, doing)
  }

  function assertNotInFile(id: string): void {
    if (!file.has(id)) return
    throw conflict(`The provider '${id}' stands in ${file.place()}, and is changed there. It is read-only here.`)
  }

  return {
    async add(entered: Entered, doing: Doing): Promise<StoredProvider> {
      const { id } = entered
      usable(entered, file.prices())
      assertNotInFile(id)
      const revision = await store.beginChange()
      const all = await store.list()
      if (all.some((one) => one.id === id)) throw conflict(`There is a provider '${id}' already. Change it instead.`)
      if (all.length >= PROVIDERS_MAX)
        throw new Refusal('quota_exceeded', `At most ${PROVIDERS_MAX} providers can be added over the API.`, {
          headers: { 'x-should-retry': 'false' },
        })
      const fields = Object.keys(entered).sort()
      return put(id, { status: 'active', ...apart(entered), change: 'added', fields }, revision, doing)
    },

    change: (id: string, doing: Doing, altered: (whole: Entered) => Entered) => alter(id, doing, 'changed', altered),

    /** Its settings come back, never its secrets: an old one may have been changed because others knew it. */
    async restore(id: string, to_version: number, doing: Doing): Promise<StoredProvider> {
      assertNotInFile(id)
      const version = await store.version(id, to_version)
      if (!version) throw new Refusal('not_found', `The provider '${id}' has no version ${to_version}.`)
      const entered = version.entered as Entered
      return alter(id, doing, 'restored', (whole) => wholeOf({ entered, secrets: apart(whole).secrets }))
    },

    /** A second time changes nothing. */
    async turn(id: string, status: ProviderStatus, doing: Doing): Promise<StoredProvider> {
      assertNotInFile(id)
      const revision = await store.beginChange()
      const stored = await present(id, doing)
      if (stored.status === status) return stored
      const { entered, secrets } = stored
      const change = status === 'draining' ? 'drained' : 'resumed'
      return put(id, { status, entered, secrets, change, fields: ['status'] }, revision, doing)
    },

    /** One that stands aside, since the file has its id by now, can be removed: nothing goes there. */
    async remove(id: string, doing: Doing, is_forced: boolean): Promise<void> {
      const revision = await store.beginChange()
      if (file.has(id) && !(await store.find(id))) assertNotInFile(id)
      const stored = await present(id, doing)
      if (!is_forced && !file.has(id)) await assertNotNeeded(id)
      await store.remove(stored, doing.actor, revision, doing.now)
    },
  }

  async function assertNotNeeded(id: string): Promise<void> {
    const aliases = await store.aliasesNaming(id)
    const name = `The provider '${id}'`
    if (aliases > 0)
      throw conflict(`${name} is named by ${aliases} alias${aliases === 1 ? '' : 'es'} of projects. ${BY_FORCE}`)
    if (file.count() === 0 && (await store.list()).length === 1)
      throw conflict(`${name} is the last one: without it, the placeholder would answer. ${BY_FORCE}`)
  }
}

const BY_FORCE = "Remove it all the same with '?force=true'."

export const unknownProvider = (id: string) => new Refusal('not_found', `There is no provider '${id}'.`)

/** Nothing that trying again would change. */
const conflict = (message: string) => new Refusal('conflict', message, { headers: { 'x-should-retry': 'false' } })
