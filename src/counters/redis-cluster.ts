// The nodes of a Redis Cluster: one connection to each, which the shards on it share, and who holds which slot. A link
// here is that of one slot. It follows where the slot goes (MOVED, ASK): a node that sends us on has done nothing, so
// asking again elsewhere is safe. Nothing else is tried again; whoever holds the link decides that (redis-session.ts).
import { dial, type Link, type NodeLink, type SlotRange } from './redis-link.ts'
import { answeredWithin } from './redis-session.ts'
import { addressOf, NODES_MAX, parseAddress, withAddress } from './redis-url.ts'

const HOPS_MAX = 3
const DIAL_MS = 1_000

interface Node {
  address: string
  link: NodeLink
  users: Set<User>
  forget(): void
}

interface Entry {
  address: string
  node: Promise<Node>
}

/** Who goes over a connection: one link of one slot. */
interface User {
  node: Node
  onEnd(reason: Error): void
}

export function clusterNodes(seeds: readonly string[]) {
  const [first = ''] = seeds
  const seed_addresses = seeds.map(addressOf)
  const open = new Map<string, Entry>()
  let known: readonly string[] = seed_addresses
  let looking: Promise<readonly SlotRange[]> | undefined

  function nodeAt(address: string): Promise<Node> {
    const there = open.get(address)
    if (there) return there.node
    const entry: Entry = { node: connect(address, () => forget(entry)), address }
    open.set(address, entry)
    entry.node.catch(() => forget(entry))
    return entry.node
  }

  async function connect(address: string, forgetIt: () => void): Promise<Node> {
    const link = await dial(withAddress(first, address), DIAL_MS, (reason) => {
      forgetIt()
      for (const user of node.users) if (user.node === node) user.onEnd(reason)
    })
    const node: Node = { address, link, users: new Set(), forget: forgetIt }
    setTimeout(() => node.users.size === 0 && hangUp(node), DIAL_MS).unref() // it was asked for the slots alone
    return node
  }

  /** Whoever dials from now on gets another connection. */
  function forget(entry: Entry): void {
    if (open.get(entry.address) === entry) open.delete(entry.address)
  }

  /** The first node to answer tells who holds what. */
  function slots(): Promise<readonly SlotRange[]> {
    looking ??= Promise.any(known.map(askSlots))
      .catch((error: AggregateError) => {
        throw error.errors[0]
      })
      .finally(() => {
        looking = undefined
      })
    return looking
  }

  async function askSlots(address: string): Promise<readonly SlotRange[]> {
    const { link } = await nodeAt(address)
    const ranges = await answeredWithin(link.slots(), DIAL_MS)
    const host = address.slice(0, address.lastIndexOf(':'))
    const named = ranges.map((range) => ({ ...range, address: parseAddress(range.address, host) ?? address }))
    known = [...new Set([...seed_addresses, ...named.map((range) => range.address)])].slice(0, NODES_MAX)
    return named
  }

  async function holderOf(slot: number): Promise<string> {
    const range = (await slots()).find(({ from, to }) => from <= slot && slot <= to)
    if (!range) throw new Error(`no node of the Redis Cluster holds slot ${slot}`)
    return range.address
  }

  return {
    /** A link to whoever holds the slot. `onEnd`: that node has hung up. */
    async dial(slot: number, onEnd: (reason: Error) => void): Promise<Link> {
      const joined = new Set<Node>()
      const user: User = { node: await nodeAt(await holderOf(slot)), onEnd }
      const join = (node: Node) => {
        joined.add(node)
        node.users.add(user)
        return node
      }
      join(user.node)

      async function sent(work: (link: NodeLink, asking: boolean) => Promise<unknown>): Promise<unknown> {
        try {
          return await work(user.node.link, false)
        } catch (error) {
          return followed(error as Error, work)
        }
      }

      async function followed(why: Error, work: (link: NodeLink, asking: boolean) => Promise<unknown>) {
        let reason = why
        for (let hops = 0; hops < HOPS_MAX; hops++) {
          const next = redirection(reason.message, user.node.address)
          if (!next) throw reason
          const node = join(await nodeAt(next.address))
          if (next.for_good) user.node = node
          try {
            return await work(node.link, !next.for_good)
          } catch (error) {
            reason = error as Error
          }
        }
        throw new Error(`the nodes of the Redis Cluster send us round: ${reason.message}`)
      }

      const part = async (how: 'quit' | 'drop') => {
        for (const node of joined) {
          node.users.delete(user)
          node.forget()
          if (node.users.size === 0) await node.link[how]()
        }
        joined.clear()
      }

      return {
        run: (script, keys, args) => sent((link, asking) => link.run(script, keys, args, asking)),
        remove: (key, id) => sent((link, asking) => link.remove(key, id, asking)),
        quit: () => part('quit'),
        drop: () => void part('drop'),
      }
    },
  }
}

function hangUp(node: Node): void {
  node.forget()
  node.link.drop()
}

/** Where a node sends us: for good, or only with this one call while the slot is being handed over. */
function redirection(message: string, from: string): { address: string; for_good: boolean } | undefined {
  const [, how, where = ''] = /^(MOVED|ASK) \d+ (\S+)/.exec(message) ?? []
  const address = how && parseAddress(where, from.slice(0, from.lastIndexOf(':')))
  return address ? { address, for_good: how === 'MOVED' } : undefined
}
