// R12, T-81 to T-88: which addresses may be dialled for a customer. Decided on the resolved address of every dial,
// never on a name: names change their answers, and one address has many spellings.
import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { type Address, type Cidr, isIn, parseAddress, parseCidr } from '../core/ip-address.ts'
import { fairLookups, type Resolve } from './fair-lookups.ts'
import { UpstreamError } from './provider.ts'

export interface AddressPolicy {
  /** Loopback and private ranges at large: where the server itself listens on loopback only. */
  allow_private: boolean
  /** Private ranges that the operator listed. They open nothing that is never dialled. */
  allow_cidrs: readonly string[]
}

/** Resolves a name for a dial: one bad answer among several fails them all. */
export interface GuardedLookup extends LookupFunction {
  /** What speaks against an address, if anything does. For literal addresses, which no lookup ever sees. */
  judge(address: string): AddressRefused | undefined
}

export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'
  readonly code = 'ERR_ADDRESS_REFUSED'
}

/** One for the whole process: so are the threads. */
const fairLookup = fairLookups(systemLookup)

export function guardedLookup(policy: AddressPolicy, resolve: Resolve = fairLookup): GuardedLookup {
  const judge = judgeBy(policy)
  const lookup: LookupFunction = (hostname, options, done) => {
    resolve(hostname, { ...options, all: true }, (error, answers) => {
      const [first] = answers ?? []
      if (error || !first) return done(error ?? new AddressRefused(`'${hostname}' has no address`), '')
      for (const { address } of answers) {
        const refused = judge(address)
        if (refused) return done(refused, '')
      }
      if (options.all) done(null, answers)
      else done(null, first.address, first.family)
    })
  }
  return Object.assign(lookup, { judge })
}

/** Throws where an upstream's address can never be dialled. A name passes and is judged whenever it is resolved. */
export function assertDialable(text: string, policy: AddressPolicy): void {
  const refused = refusalOf(text, judgeBy(policy))
  if (refused) throw new UpstreamError('refused_address', refused)
}

function refusalOf(text: string, judge: GuardedLookup['judge']): AddressRefused | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) return new AddressRefused(`'${text}' is no http or https address`)
  // The parser has made every spelling of a literal into its one canonical form: 127.1, 0x7f.1, ①27.0.0.1, %31%32%37…
  const host = url.hostname.replace(/^\[|\]$/g, '')
  return isIP(host) === 0 ? undefined : judge(host)
}

function judgeBy(policy: AddressPolicy): GuardedLookup['judge'] {
  let { allow_cidrs } = policy
  let allowed = allow_cidrs.map(cidr)
  const isAllowed = (address: Address) => {
    if (policy.allow_cidrs !== allow_cidrs) {
      allow_cidrs = policy.allow_cidrs // R83: the settings were read again
      allowed = allow_cidrs.map(cidr)
    }
    return policy.allow_private || allowed.some((range) => isIn(address, range))
  }
  const isFine = (address: Address) => {
    const reach = reachOf(address)
    return reach === 'public' || (reach === 'private' && isAllowed(address))
  }
  return (text) => {
    const address = parseAddress(text)
    const is_fine = address && destinations(address).every(isFine)
    return is_fine ? undefined : new AddressRefused(`the address '${text}' may not be dialled`)
  }
}

/** Public; or only where the operator says so; or never, whatever the operator says. */
type Reach = 'public' | 'private' | 'never'

const NEVER_V4 = ranges(
  '0.0.0.0/8', //         this host
  '169.254.0.0/16', //    link-local, and most clouds' metadata
  '100.100.100.200/32', // metadata: Alibaba
  '168.63.129.16/32', //  metadata: Azure
  '192.0.0.0/24', //      protocol assignments, and metadata: Oracle
  '192.0.2.0/24', //      documentation
  '198.51.100.0/24', //   documentation
  '203.0.113.0/24', //    documentation
  '192.88.99.0/24', //    6to4 relays, withdrawn
  '224.0.0.0/4', //       multicast
  '240.0.0.0/4', //       reserved, and broadcast
)
const PRIVATE_V4 = ranges(
  '127.0.0.0/8', //   loopback
  '10.0.0.0/8', //    RFC 1918
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10', // carrier-grade NAT
  '198.18.0.0/15', // benchmarking; some clouds hand it out inside
)
const NEVER_V6 = ranges(
  'fd00:ec2::/32', //     metadata: Amazon
  'fd20:ce::254/128', //  metadata: Google
  'fd00:42::42/128', //   metadata: Scaleway
  '2001:2::/48', //       benchmarking
  '2001:10::/28', //      ORCHID
  '2001:20::/28', //      ORCHIDv2
  '2001:db8::/32', //     documentation
  '3fff::/20', //         documentation
)
const PRIVATE_V6 = ranges(
  '::1/128', //         loopback
  'fc00::/7', //        unique local
  '64:ff9b:1::/48', //  a network's own NAT64
)
const GLOBAL_V6 = ranges('2000::/3') // all that is handed out; what lies outside is link-local, multicast or reserved

function reachOf(address: Address): Reach {
  const within = (list: readonly Cidr[]) => list.some((range) => isIn(address, range))
  if (address.length === 4) return within(NEVER_V4) ? 'never' : within(PRIVATE_V4) ? 'private' : 'public'
  if (within(NEVER_V6)) return 'never'
  if (within(PRIVATE_V6)) return 'private'
  return within(GLOBAL_V6) ? 'public' : 'never'
}

/** IPv6 that carries IPv4 inside: where such a packet ends is judged too. */
const CARRIERS: { range: Cidr; ends: (address: Address) => Address[] }[] = [
  { range: cidr('::ffff:0:0/96'), ends: (address) => [address.subarray(12)] }, //            mapped
  { range: cidr('::ffff:0:0:0/96'), ends: (address) => [address.subarray(12)] }, //          translated
  { range: cidr('64:ff9b::/96'), ends: (address) => [address.subarray(12)] }, //             NAT64
  { range: cidr('64:ff9b:1::/48'), ends: (address) => [address, address.subarray(12)] }, //  NAT64, a network's own
  { range: cidr('2002::/16'), ends: (address) => [address, address.subarray(2, 6)] }, //     6to4
  {
    range: cidr('2001::/32'), // Teredo: its server, and its client with every bit turned over
    ends: (address) => [address, address.subarray(4, 8), address.slice(12).map((byte) => byte ^ 0xff)],
  },
]

function destinations(address: Address): Address[] {
  return CARRIERS.find(({ range }) => isIn(address, range))?.ends(address) ?? [address]
}

function ranges(...texts: string[]): Cidr[] {
  return texts.map(cidr)
}

function cidr(text: string): Cidr {
  const range = parseCidr(text)
  if (!range) throw new Error(`'${text}' is no range of addresses; write it like 10.0.0.0/8 or fd00::/8`)
  return range
}
