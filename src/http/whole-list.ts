// R70: a list without parameters is whole, however long it is. It is read and written a batch at a time, so that memory
// stays bounded and others are served in between. A short one goes out like any other answer.
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { TSchema } from 'typebox'
import { type ListFormat, tailOf, writeList } from '../core/list-format.ts'
import { restingTurn } from '../core/turns.ts'
import { BATCH_ROWS } from '../storage/batches.ts'
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
  tail_of_page: '],"has_more":true}',
})

/** A part of a list. Whether more comes behind it is known when it has been read. */
export interface Page<Item> {
  batches: Batches<Item>
  hasMore(): boolean
}

/** At most so many; of a list without a limit, all. */
export function cutAt<Item>(limit: number | undefined, batches: Batches<Item>): Page<Item> {
  let has_more = false
  async function* cut(left: number) {
    for await (const batch of batches) {
      has_more = batch.length > left
      if (left > 0) yield has_more ? batch.slice(0, left) : batch
      if (has_more) return
      left -= batch.length
    }
  }
  return { batches: limit === undefined ? batches : cut(limit), hasMore: () => has_more }
}

/** What is known already, in batches like what is read. */
export const inSlices = <Item>({ data, has_more }: { data: readonly Item[]; has_more: boolean }): Page<Item> => ({
  batches: slicesOf(data),
  hasMore: () => has_more,
})

export async function* slicesOf<Item>(all: readonly Item[], most = BATCH_ROWS): AsyncGenerator<Item[]> {
  for (let at = 0; at < all.length; at += most) yield all.slice(at, at + most)
}

/** As the list envelope, each item by its shape. */
export function sendList<Item>(reply: FastifyReply, batches: Batches<Item>, shape: TSchema, limit?: number) {
  const text = reply.compileSerializationSchema(shape as unknown as Record<string, unknown>)
  return sendPage(
    reply,
    cutAt(limit, batches),
    listEnvelope<Item>((item) => text(item as Record<string, unknown>)),
  )
}

/** Sends all of it. */
export const sendWhole = <Item>(reply: FastifyReply, batches: Batches<Item>, format: ListFormat<Item>) =>
  sendPage(reply, cutAt(undefined, batches), format)

/** An error of the store after the first batch can only break the connection off. */
export async function sendPage<Item>(reply: FastifyReply, page: Page<Item>, format: ListFormat<Item>) {
  const rest = page.batches[Symbol.asyncIterator]()
  const [first, second] = [await rest.next(), await rest.next()]
  reply.header('content-type', format.content_type)
  const items = first.done ? [] : first.value
  if (second.done) return reply.send(writeList(format, items, page.hasMore()))
  if (reply.request.method === 'HEAD') return reply.send('') // its length would have to be read in full to be known
  endWhereStalled(reply.raw)
  return reply.send(Readable.from(written([items, second.value], rest, format, page.hasMore)))
}

async function* written<Item>(
  [first, second]: readonly [readonly Item[], readonly Item[]],
  rest: AsyncIterator<readonly Item[]>,
  format: ListFormat<Item>,
  hasMore: () => boolean,
): AsyncGenerator<string> {
  const { head, item, separator } = format
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
    yield tailOf(format, hasMore())
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
