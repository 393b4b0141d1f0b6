// §7.2: items that a request only points at: of which responses they are, what they come to, and what stands in their
// place. Ids that are not ours are for the upstream to know.
import { writtenInSteps } from '../core/json-writing.ts'
import { CHAIN_MAX } from './response-chain.ts'
import { isReference, responseOfItem } from './response-items.ts'
import { type Item, wrong } from './response-request.ts'

export interface Pointers {
  responses: ReadonlySet<string>
  /** How often each item is pointed at, by its id. */
  uses: ReadonlyMap<unknown, number>
  /** The input with the items in place of what points at them. */
  placed(found: ReadonlyMap<unknown, Item>): Item[]
}

/** Undefined where all items stand there themselves. */
export function pointersIn(items: readonly Item[]): Pointers | undefined {
  const pointing = new Set<Item>()
  const responses = new Set<string>()
  const uses = new Map<unknown, number>()
  for (const item of items) {
    const response_id = isReference(item) ? responseOfItem(String(item.id)) : undefined
    if (response_id === undefined) continue
    pointing.add(item)
    responses.add(response_id)
    uses.set(item.id, (uses.get(item.id) ?? 0) + 1)
  }
  if (pointing.size === 0) return undefined
  if (responses.size > CHAIN_MAX) throw wrong('input', `point at items of at most ${CHAIN_MAX} responses`)
  return {
    responses,
    uses,
    placed: (found) =>
      items.map((item, at) => {
        const meant = pointing.has(item) ? found.get(item.id) : item
        if (!meant) throw wrong(`input[${at}].id`, 'be the id of an item of a stored response')
        return meant
      }),
  }
}

const WEIGHED_AT_ONCE_BYTES = 256 * 1024

/**
 * R77: how many bytes are written for items that are pointed at more than once, but for the first time. In steps, and
 * no further than until it is more than `most`.
 */
export function* repeatedBytes(
  found: ReadonlyMap<unknown, Item>,
  { uses }: Pick<Pointers, 'uses'>,
  most: number,
): Generator<void, number> {
  let bytes = 0
  let weighed = 0
  for (const [id, item] of found) {
    const again = (uses.get(id) ?? 1) - 1
    if (again === 0) continue
    const { length } = yield* writtenInSteps(item)
    bytes += again * length
    if (bytes > most) break
    weighed += length
    if (weighed < WEIGHED_AT_ONCE_BYTES) continue
    weighed = 0
    yield
  }
  return bytes
}
