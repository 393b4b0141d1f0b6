// All of a list that comes in batches, as a test wants it.
export async function allOf<Item>(batches: AsyncIterable<readonly Item[]>): Promise<Item[]> {
  const all: Item[] = []
  for await (const batch of batches) all.push(...batch)
  return all
}
