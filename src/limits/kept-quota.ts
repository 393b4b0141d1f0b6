// R78: how much of what is kept for it a project may have, in number and bytes, where a place cannot be taken in the
// transaction that fills it: an answer is kept long after its call was let in. So a project's are counted now and then,
// and what this process has added since is added to that. Others may have added as much: the less is left, the sooner
// it is counted again, so that a bound does not multiply by replicas. Whoever is let in is finished, answered and kept.
import { MINUTE_MS } from '../core/clock.ts'
import type { Refusal } from '../core/refusal.ts'
import { beyondQuota, QUOTA_MAX, type QuotaKind, type Quotas } from './quota.ts'

export interface Kept {
  items: number
  bytes: number
}

export interface KeptNeeds {
  /** Without `items` their number has no bound. */
  kinds: { items?: QuotaKind; mib: QuotaKind }
  quotas: Quotas
  /** What the operator said for one project alone (R79). */
  own(project_id: string): Promise<Partial<Record<QuotaKind, number>>>
  /** What a project has, of so many items at the most. */
  count(project_id: string, most: number): Promise<Kept>
}

const MIB = 2 ** 20
const COUNTED_FOR_MS = 10 * MINUTE_MS
const NEAR = 0.5
const COUNTED_FOR_NEAR_MS = MINUTE_MS
/** Of what was left when it was counted: whoever has added so much since counts again. */
const ADDED_SHARE = 1 / 16
const COUNTED_AGAIN_MS = 1_000 // no sooner
const COUNTING_SHARE = 1 / 50 // of the time, and no more, a project's are being counted
const PROJECTS_MAX = 10_000
/** What an item under way is taken for, until a project's own are known. */
const ITEM_BYTES = 16 * 1024

interface Known {
  counted_at: number
  /** How long the counting took. */
  took_ms: number
  counted: Kept
  added: Kept
  under_way: number
  /** Of those under way whose size is known. */
  under_way_bytes: number
  /** What it may have: in number, and in MiB. */
  items_max: number
  mib_max: number
}

export type KeptQuota = ReturnType<typeof keptQuota>

export function keptQuota({ kinds, quotas, own, count }: KeptNeeds) {
  const known = new Map<string, Known>()
  const counting = new Map<string, Promise<Known>>()

  /** Those that were counted first make room. */
  function remember(project_id: string, entry: Known): Known {
    known.delete(project_id)
    const [first] = known.keys()
    if (first !== undefined && known.size >= PROJECTS_MAX) known.delete(first)
    known.set(project_id, entry)
    return entry
  }

  /** However many want to know. */
  function counted(project_id: string, now: number): Promise<Known> {
    const begun = counting.get(project_id)
    if (begun) return begun
    const counts = countNow(project_id, now).finally(() => counting.delete(project_id))
    counting.set(project_id, counts)
    return counts
  }

  async function countNow(project_id: string, now: number): Promise<Known> {
    const from_ms = performance.now()
    const said = await own(project_id)
    const items_max = kinds.items ? (said[kinds.items] ?? quotas[kinds.items]) : QUOTA_MAX
    const mib_max = said[kinds.mib] ?? quotas[kinds.mib]
    const there = await count(project_id, items_max + 1)
    const { under_way, under_way_bytes } = known.get(project_id) ?? { under_way: 0, under_way_bytes: 0 }
    const added = { items: 0, bytes: 0 }
    const took_ms = performance.now() - from_ms
    const counts = { counted: there, added, under_way, under_way_bytes }
    return remember(project_id, { counted_at: now, took_ms, ...counts, items_max, mib_max })
  }

  function used({ counted, added, under_way, under_way_bytes }: Known): Kept {
    const items = counted.items + added.items
    const bytes = counted.bytes + added.bytes
    const usual_bytes = items > 0 ? bytes / items : ITEM_BYTES
    return { items: items + under_way, bytes: bytes + under_way_bytes + under_way * Math.max(usual_bytes, ITEM_BYTES) }
  }

  function refusalFor(entry: Known): Refusal | undefined {
    const { items, bytes } = used(entry)
    const { items_max, mib_max } = entry
    if (kinds.items && items >= items_max) return beyondQuota(kinds.items, items_max)
    return bytes >= mib_max * MIB ? beyondQuota(kinds.mib, mib_max) : undefined
  }

  function isOld(entry: Known, now: number): boolean {
    const age_ms = now - entry.counted_at
    if (hasGrown(entry)) return age_ms >= Math.max(COUNTED_AGAIN_MS, entry.took_ms / COUNTING_SHARE)
    const { items, bytes } = used(entry)
    const is_near = items >= entry.items_max * NEAR || bytes >= entry.mib_max * MIB * NEAR
    return age_ms >= (is_near ? COUNTED_FOR_NEAR_MS : COUNTED_FOR_MS)
  }

  return {
    /** Throws the 429 where a project has as much as it may: nothing may have been done for the call by then. */
    check(project_id: string, now: number): void | Promise<void> {
      const entry = known.get(project_id)
      if (entry && !isOld(entry, now)) return refuse(refusalFor(entry))
      return counted(project_id, now).then((fresh) => refuse(refusalFor(fresh)))
    },

    /**
     * Takes so much for a call where there is room for it, until that is given back; false where there is none. Of any
     * number at once those are let in that fit.
     */
    async take(project_id: string, bytes: number, now: number): Promise<boolean> {
      const entry = known.get(project_id)
      const fresh = entry && !isOld(entry, now) ? entry : await counted(project_id, now)
      if (used(fresh).bytes + bytes > fresh.mib_max * MIB) return false
      fresh.under_way_bytes += bytes
      return true
    },

    giveBack(project_id: string, bytes: number): void {
      const entry = known.get(project_id)
      if (entry) entry.under_way_bytes = Math.max(0, entry.under_way_bytes - bytes)
    },

    began(project_id: string): void {
      const entry = known.get(project_id)
      if (entry) entry.under_way++
    },

    ended(project_id: string): void {
      const entry = known.get(project_id)
      if (entry && entry.under_way > 0) entry.under_way--
    },

    added(project_id: string, bytes: number): void {
      const entry = known.get(project_id)
      if (!entry) return
      entry.added.items++
      entry.added.bytes += bytes
    },

    /** For what nobody tells the size of: as large as the project's others. */
    addedOne(project_id: string): void {
      const entry = known.get(project_id)
      if (!entry) return
      const { items, bytes } = used(entry)
      entry.added.items++
      entry.added.bytes += items > 0 ? bytes / items : ITEM_BYTES
    },
  }
}

function hasGrown({ counted, added, items_max, mib_max }: Known): boolean {
  const items_left = Math.max(0, items_max - counted.items)
  const bytes_left = Math.max(0, mib_max * MIB - counted.bytes)
  return added.items > items_left * ADDED_SHARE || added.bytes > bytes_left * ADDED_SHARE
}

function refuse(refusal: Refusal | undefined): void {
  if (refusal) throw refusal
}
