// How a list is written, item by item: what stands before, between and behind the items.
export interface ListFormat<Item> {
  content_type: string
  head: string
  item(item: Item): string
  separator: string
  tail: string
}

/** All of a short one at once. */
export const writeList = <Item>({ head, item, separator, tail }: ListFormat<Item>, items: readonly Item[]): string =>
  head + items.map(item).join(separator) + tail
