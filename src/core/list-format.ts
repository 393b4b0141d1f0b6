// How a list is written, item by item: what stands before, between and behind the items.
export interface ListFormat<Item> {
  content_type: string
  head: string
  item(item: Item): string
  separator: string
  tail: string
  /** The same of a page that more comes behind, where that is told. */
  tail_of_page?: string
}

/** All of a short one at once. */
export const writeList = <Item>(format: ListFormat<Item>, items: readonly Item[], has_more = false): string =>
  format.head + items.map(format.item).join(format.separator) + tailOf(format, has_more)

export const tailOf = ({ tail, tail_of_page = tail }: ListFormat<never>, has_more: boolean) =>
  has_more ? tail_of_page : tail
