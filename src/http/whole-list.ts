// R70: a list without parameters is whole, however long it is. It is read and written a batch at a time, so that memory
// stays bounded and others are served in between. A short one goes out like any other answer.
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { TSchema } from 'typebox'
import { type ListFormat, writeList } from '../core/list-format.ts'
import { restingTurn } from '../core/turns.ts'
import { endWhereStalled } from './unread-answers.ts'

/** What a store gives of a long list: nothing of the store is held between two batches. */
export type Batches<Item> = AsyncIterable<readonly Item[]>

/** The list envelope of §2.6; `item` writes one of them. */
export const listEnvelope = <Item>(item: (item: Item) => string): ListFormat<Item> => ({
  content_type: 'application/json; charset=utf-8',
  head: '{"object":"list","data":[',
  item,
  separator: ',',
  tail: '],"has_more":false}',
})

/** As the list envelope, each item by its shape. */
export function sendList<Item>(reply: FastifyReply, batches: Batches<Item>, shape: TSchema) {
  const text = reply.compileSerializationSchema(shape as unknown as Record<string, unknown>)
  return sendWhole(
    reply,
    batches,
    listEnvelope<Item>((item) => text(item as Record<string, unknown>)),
  )
}

/** Sends all of it. An error of the store after the first batch can only break the connection off. */
export async function sendWhole<Item>(reply: FastifyReply, batches: Batches<Item>, format: ListFormat<Item>) {
  const rest = batches[Symbol.asyncIterator]()
  const [first, second] = [await rest.next(), await rest.next()]
  reply.header('content-type', format.content_type)
  const items = first.done ? [] : first.value
  if (second.done) return reply.send(writeList(format, items))
  if (reply.request.method === 'HEAD') return reply.send('') // its length would have to be read in full to be known
  endWhereStalled(reply.raw)
  return reply.send(Readable.from(written(items, second.value, rest, format)))
}

async function* written<Item>(
  first: readonly Item[],
  second: readonly Item[],
  rest: AsyncIterator<readonly Item[]>,
  { head, item, separator, tail }: ListFormat<Item>,
): AsyncGenerator<string> {
  try {
    yield head + first.map(item).join(separator)
    for (let batch: readonly Item[] | undefined = second; batch; ) {
      const from_ms = performance.now()
      const text = separator + batch.map(item).join(separator)
      const took_ms = performance.now() - from_ms
      yield text
      // An embedded store answers within the turn, in about the time of writing: without this, nobody else is served.
      await restingTurn(2 * took_ms)
      const next: IteratorResult<readonly Item[]> = await rest.next()
      batch = next.done ? undefined : next.value
    }
    yield tail
  } finally {
    await rest.return?.() // the client may have left
  }
}

/** For a page: no more is read than it takes. */
export async function firstOf<Item>(batches: Batches<Item>, most: number): Promise<Item[]> {
  const items: Item[] = []
  for await (const batch of batches) {
    items.push(...batch)
    if (items.length >= most) break
  }
  return items.slice(0, most)
}
