// What the torture runs ask for: keyed creations, each under a name of its own, at both endpoints that create.
import type { Chance } from './randomness.ts'
import type { Ask, Client } from './recording-client.ts'

const CLUSTERS = '/v2/byoc/clusters'
const KEYS = '/v2/api-keys'
export const PATHS = [CLUSTERS, KEYS] as const

/** The names hold more than ASCII: a replay must be right to the byte, not to the letter. */
export function asks(random: Chance, padding_max = 0) {
  let count = 0
  const run = random.text(6)
  return (): Ask => {
    const name = `${run} №${++count} ☂`
    const padding = padding_max > 0 ? { ignored: 'x'.repeat(random.below(padding_max)) } : {} // R9
    const path = PATHS[count % PATHS.length] as string
    const body = path === CLUSTERS ? { name, region: 'eu-west-1', ...padding } : { name, ...padding }
    return { path, key: random.text(40), name, body: JSON.stringify(body) }
  }
}

/** Everything that the store lists, read over HTTP like anybody else; the bootstrap key was there before. */
export async function stored(client: Client) {
  const lists = await Promise.all(PATHS.map((path) => client.list(path)))
  return lists.flat().filter(({ path, name }) => !(path === KEYS && name === 'bootstrap'))
}

/** Runs `work` with each item, `lanes` of them at a time. */
export async function inLanes<T>(lanes: number, items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const queue = items[Symbol.iterator]()
  const lane = async () => {
    for (let next = queue.next(); !next.done; next = queue.next()) await work(next.value)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

export const count = <T>(things: readonly T[], which: (one: T) => boolean) =>
  things.reduce((sum, one) => sum + (which(one) ? 1 : 0), 0)

/** The highest of any number of values: as arguments of Math.max, a hundred thousand would be too many. */
export const highest = (values: readonly number[]) => values.reduce((most, value) => Math.max(most, value), 0)
