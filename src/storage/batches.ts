// A long list read a batch at a time, newest first, by the place of the last row: no cursor, transaction or snapshot is
// held in between, and the last batch costs what the first does. What is added meanwhile is newer, and not in it.

export const BATCH_ROWS = 100 // about a millisecond's worth
export const LARGE_BATCH_ROWS = 8 // of rows that may have tens of kilobytes each, as a body may

/** Where a row stands among the rows of a project. */
export interface Place {
  sequence: number
  id: string
}

const NEWEST: Place = { sequence: Number.MAX_SAFE_INTEGER, id: '' }

/** `read` gives at most so many rows whose (sequence, id) is below the place, in descending order. */
export const newestFirst = <Row extends Place>(
  read: (below: Place) => Promise<Row[]>,
  most = BATCH_ROWS,
): AsyncGenerator<Row[]> => inBatches(NEWEST, read, most)

/** The same for a list with places of its own kind. */
export async function* inBatches<At, Row extends At & {}>(
  start: At,
  read: (below: At) => Promise<Row[]>,
  most = BATCH_ROWS,
): AsyncGenerator<Row[]> {
  for (let below = start; ; ) {
    const rows = await read(below)
    const last = rows.at(-1)
    if (last) yield rows
    if (!last || rows.length < most) return
    below = last
  }
}

/** What a store makes of its rows. */
export async function* mapped<Row, Item>(batches: AsyncIterable<readonly Row[]>, item: (row: Row) => Item) {
  for await (const rows of batches) yield rows.map(item)
}

/** What is deleted in one transaction: an embedded store serves nobody meanwhile. */
export const DELETED_AT_ONCE_ROWS = 200
export const DELETED_AT_ONCE_BYTES = 4 * 1024 * 1024

/** The first of them, as many as have so many bytes together; one at least. */
export function withinBytes<Row extends { bytes: number }>(rows: readonly Row[], most: number): Row[] {
  let bytes = 0
  const past = rows.findIndex((row, at) => {
    bytes += Number(row.bytes)
    return at > 0 && bytes > most
  })
  return rows.slice(0, past < 0 ? rows.length : past)
}
