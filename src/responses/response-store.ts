// Responses that their callers let us keep (`store`), sealed: a conversation is nobody's to read in a stolen database.
// A chain of them is walked in one statement, which bounds it in steps and in bytes.
import { rfc3339 } from '../core/clock.ts'
import { BUDGETS, jsonWithin } from '../core/foreign.ts'
import { nextSequence } from '../core/ids.ts'
import { type Maker, madeByAnother } from '../core/maker.ts'
import { Refusal } from '../core/refusal.ts'
import type { Sealing } from '../core/sealing.ts'
import { nextTurn } from '../core/turns.ts'
import type { Kept } from '../limits/kept-quota.ts'
import { type Db, joined, sql } from '../storage/db.ts'
import type { NativeBlocks } from './native-response.ts'
import { type ItemList, type ItemsPage, isReference, listItems, responseOfItem } from './response-items.ts'
import { outputOf, type ResponseObject } from './response-object.ts'
import { type Item, isResponseId, wrong } from './response-request.ts'

export interface KeptResponse extends Maker {
  trace_id: string
  response: ResponseObject
  /** What this request brought, without what came before it and without its instructions. */
  input: readonly Item[]
  native: NativeBlocks | null
}

export const CHAIN_MAX = 100
export const CHAIN_MAX_BYTES = 32 * 1024 * 1024

type Sealed = Pick<KeptResponse, 'response' | 'input' | 'native'>

/** What is opened before others have their turn. */
const OPENED_AT_ONCE_BYTES = 256 * 1024

interface Row extends Maker {
  id: string
  trace_id: string
  sealed: Uint8Array
}

/** R74: whether whoever asks may see what this maker made. */
export type MayUse = (maker: Maker) => boolean
type Link = Row & { previous_response_id: string | null; depth: number; bytes: number }

export type ResponseStore = ReturnType<typeof responseStore>

export function responseStore(db: Db, { seal, open }: Sealing) {
  const place = (id: string) => `stored_response ${id}`

  /** R77: what is large is read in steps. */
  async function opened(project_id: string, row: Row): Promise<KeptResponse> {
    const { id, trace_id, made_by, made_under, sealed } = row
    const kept = (await jsonWithin(BUDGETS.own, open(sealed, project_id, place(id)))) as Sealed
    return { trace_id, made_by, made_under, ...kept }
  }

  async function find(project_id: string, id: string): Promise<KeptResponse | undefined> {
    if (!isResponseId(id)) return undefined
    const [row] = await db.rows<Row>(sql`
      SELECT id, trace_id, made_by, made_under, sealed FROM stored_response
      WHERE project_id = ${project_id} AND id = ${id}`)
    return row && (await opened(project_id, row))
  }

  return {
    /** R80: which generation made it. That is no content: whoever may read traces may know. */
    async traceOf(project_id: string, id: string): Promise<string | undefined> {
      if (!isResponseId(id)) return undefined
      const [row] = await db.rows<{ trace_id: string }>(sql`
        SELECT trace_id FROM stored_response WHERE project_id = ${project_id} AND id = ${id}`)
      return row?.trace_id
    },

    /**
     * Ids of a native Responses API are its own. One that it gives out twice is the later answer, as it is there; one
     * that another project's upstream has used stays theirs, and this answer is not kept.
     */
    async insert(project_id: string, kept: KeptResponse, now: number): Promise<void> {
      const { trace_id, made_by, made_under, response, input, native } = kept
      const { id, previous_response_id } = response
      const sealed = seal(Buffer.from(JSON.stringify({ response, input, native })), project_id, place(id))
      await db.rows(sql`
        INSERT INTO stored_response (id, project_id, trace_id, made_by, made_under, previous_response_id, created_at,
                                     sequence, sealed, bytes)
        VALUES (${id}, ${project_id}, ${trace_id}, ${made_by}, ${made_under}, ${previous_response_id}, ${rfc3339(now)},
                ${nextSequence(now)}, ${sealed}, ${sealed.length})
        ON CONFLICT (id) DO UPDATE
          SET trace_id = excluded.trace_id, made_by = excluded.made_by, made_under = excluded.made_under,
              previous_response_id = excluded.previous_response_id,
              created_at = excluded.created_at, sequence = excluded.sequence, sealed = excluded.sealed,
              bytes = excluded.bytes
          WHERE stored_response.project_id = excluded.project_id`)
    },

    find,

    async remove(project_id: string, id: string): Promise<boolean> {
      if (!isResponseId(id)) return false
      const removed = await db.rows(sql`
        DELETE FROM stored_response WHERE project_id = ${project_id} AND id = ${id} RETURNING id`)
      return removed.length === 1
    },

    /** The conversation that a response ends, oldest item first. */
    async history(project_id: string, previous_response_id: string, mayUse: MayUse): Promise<Item[]> {
      const links = isResponseId(previous_response_id)
        ? await db.rows<Link>(sql`
            WITH RECURSIVE chain (id, previous_response_id, depth, bytes) AS (
              SELECT id, previous_response_id, 1, LENGTH(sealed) FROM stored_response
              WHERE project_id = ${project_id} AND id = ${previous_response_id}
              UNION ALL
              SELECT r.id, r.previous_response_id, chain.depth + 1, chain.bytes + LENGTH(r.sealed)
              FROM chain JOIN stored_response r ON r.id = chain.previous_response_id
              WHERE r.project_id = ${project_id} AND chain.depth <= ${CHAIN_MAX} AND chain.bytes <= ${CHAIN_MAX_BYTES}
            )
            SELECT r.id, r.trace_id, r.made_by, r.made_under, chain.previous_response_id, chain.depth, chain.bytes,
                   CASE WHEN (SELECT MAX(bytes) FROM chain) <= ${CHAIN_MAX_BYTES}
                         AND (SELECT MAX(depth) FROM chain) <= ${CHAIN_MAX} THEN r.sealed END AS sealed
            FROM chain JOIN stored_response r ON r.id = chain.id
            ORDER BY chain.depth DESC`)
        : []
      checkChain(links, previous_response_id)
      if (!links.every(mayUse)) throw madeByAnother("What 'previous_response_id' leads to")
      const items: Item[] = []
      let bytes = 0
      for (const link of links) {
        for (const item of itemsOf(await opened(project_id, link))) items.push(item)
        bytes += link.sealed.length
        if (bytes > OPENED_AT_ONCE_BYTES) {
          bytes = 0
          await nextTurn()
        }
      }
      return items
    },

    /** Puts the items in place of those only pointed at. Ids that are not ours are for the upstream to know. */
    async resolved(project_id: string, items: readonly Item[], mayUse: MayUse): Promise<readonly Item[]> {
      const pointers = new Map<Item, string>()
      for (const item of items) {
        const response_id = isReference(item) ? responseOfItem(String(item.id)) : undefined
        if (response_id !== undefined) pointers.set(item, response_id)
      }
      if (pointers.size === 0) return items
      const responses = new Set(pointers.values())
      if (responses.size > CHAIN_MAX) throw wrong('input', `point at items of at most ${CHAIN_MAX} responses`)
      const known = new Map<unknown, Item>()
      for (const response_id of responses) {
        const kept = await find(project_id, response_id)
        if (kept && !mayUse(kept)) throw madeByAnother("What an item of 'input' points at")
        for (const item of itemsOf(kept)) known.set(item.id, item)
      }
      return items.map((item, at) => {
        const meant = pointers.has(item) ? known.get(item.id) : item
        if (!meant) throw wrong(`input[${at}].id`, 'be the id of an item of a stored response')
        return meant
      })
    },
  }
}

/** R78: what is stored of a project, of so many at the most; it may have many, so it is read aside. */
export async function storedFor(db: Db, project_id: string, most: number): Promise<Kept> {
  const [row] = await db.rows<Kept>(
    joined(sql`
      SELECT COUNT(*) AS items, CAST(COALESCE(SUM(bytes), 0) AS BIGINT) AS bytes FROM (
        SELECT bytes FROM stored_response WHERE project_id = ${project_id} LIMIT ${most}) AS counted`),
  )
  return row ?? { items: 0, bytes: 0 }
}

/** §8.2: the items where full fidelity is kept, otherwise none. */
export const inputItems = ({ input }: KeptResponse, page: ItemsPage, full: boolean): ItemList =>
  listItems(full ? input : [], full ? page : { ...page, after: undefined })

const itemsOf = (kept: KeptResponse | undefined): Item[] => (kept ? [...kept.input, ...outputOf(kept.response)] : [])

/** `links` has the oldest first; it must be one that nothing came before. */
function checkChain(links: readonly Link[], asked: string): void {
  const [oldest] = links
  const refusal = (why: string) => new Refusal('invalid_request', `'previous_response_id' ${why}.`)
  if (!oldest) throw refusal(`must be the id of a stored response of this project; '${asked}' is not`)
  if (oldest.depth > CHAIN_MAX) throw refusal(`leads through more than ${CHAIN_MAX} responses`)
  if (oldest.bytes > CHAIN_MAX_BYTES) throw refusal(`leads to more than ${CHAIN_MAX_BYTES} bytes of conversation`)
  if (oldest.previous_response_id !== null)
    throw refusal(`leads to '${oldest.previous_response_id}', which is no longer stored`)
}
