// §7.2: items that a request only points at: of which responses they are, what they come to, and what stands in their
// place. Ids that are not ours are for the upstream to know.
import { writtenInSteps } from '../core/json-writing.ts'
import { CHAIN_MAX, checkPointedAt } from './response-chain.ts'
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

/** R77: what is found of them, by id, and what it comes to: each as often as it is pointed at. */
export class FoundItems {
  readonly items = new Map<unknown, Item>()
  readonly #uses: Pointers['uses']
  readonly #weights = new Map<unknown, number>()
  #bytes = 0

  constructor({ uses }: Pick<Pointers, 'uses'>) {
    this.#uses = uses
  }

  /** Of two items of one id the later counts. Weighed in steps, and refused once it is too much. */
  *add(items: readonly Item[]): Generator<void, void> {
    for (const item of items) {
      const times = this.#uses.get(item.id)
      if (times === undefined) continue
      const { length } = yield* writtenInSteps(item)
      this.#bytes += times * length - (this.#weights.get(item.id) ?? 0)
      checkPointedAt(this.#bytes)
      this.#weights.set(item.id, times * length)
      this.items.set(item.id, item)
    }
  }
}
