// §8.1, T-71, T-72: which address a request counts for. Only proxies that the operator listed are believed: the address
// is the first from the right of X-Forwarded-For that is none of them. What it counts as: IPv4 by the address, also
// where it comes IPv4-mapped; IPv6 by the /64, since that is what one customer has.
import type { IncomingMessage } from 'node:http'
import { type Address, type Cidr, canonicalAddress, isIn } from '../core/ip-address.ts'

export interface Arrival {
  /** The other end of the connection; none on a Unix socket. */
  peer: string | undefined
  forwarded_for: string | undefined
}

const NO_ADDRESS = 'local'

export type CountedAddress = (arrival: Arrival) => string

export function countedAddresses(trusted: readonly Cidr[]): CountedAddress {
  const addressOf = wholeAddresses(trusted)

  return (arrival) => {
    const { peer = '' } = arrival
    if (trusted.length === 0 && !peer.includes(':')) return peer || NO_ADDRESS // nothing to look at, nothing to rewrite
    const address = addressOf(arrival)
    return address ? bucket(address) : NO_ADDRESS
  }
}

/** The address itself, for whoever must compare it with networks (R63). */
export function wholeAddresses(trusted: readonly Cidr[]): (arrival: Arrival) => Address | undefined {
  const isTrusted = (address: Address) => trusted.some((range) => isIn(address, range))

  return ({ peer = '', forwarded_for = '' }) => {
    let address = canonicalAddress(peer)
    if (!address) return undefined
    // Walked from the right only as far as it is believed: whatever else stands there costs nothing.
    for (let end = forwarded_for.length; end > 0 && isTrusted(address); ) {
      const start = forwarded_for.lastIndexOf(',', end - 1) + 1
      const next = canonicalAddress(withoutPort(forwarded_for.slice(start, end).trim()))
      if (!next) break // a proxy that does not say for whom it speaks counts itself
      address = next
      end = start - 1
    }
    return address
  }
}

export function arrivalOf({ socket, headers }: IncomingMessage): Arrival {
  const forwarded_for = headers['x-forwarded-for'] as string | undefined // Node joins the lines of this one
  return { peer: socket.remoteAddress, forwarded_for }
}

const PORTED = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/

/** `203.0.113.7:4711` and `[2001:db8::7]:4711`, as some proxies write it. */
function withoutPort(text: string): string {
  const ported = PORTED.exec(text)
  return ported ? (ported[1] ?? ported[2] ?? '') : text
}

function bucket(address: Address): string {
  if (address.length === 4) return address.join('.')
  const groups = [0, 2, 4, 6].map((at) => (((address[at] as number) << 8) | (address[at + 1] as number)).toString(16))
  return `${groups.join(':')}::/64`
}
