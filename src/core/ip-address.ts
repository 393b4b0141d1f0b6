// IP addresses as bytes, and ranges of them. Text is compared nowhere: one address has many spellings.
import { isIPv4, isIPv6 } from 'node:net'

/** Four bytes or sixteen. */
export type Address = Uint8Array

export interface Cidr {
  network: Address
  bits: number
}

export function parseAddress(text: string): Address | undefined {
  const [bare = ''] = text.split('%') // a zone says through which interface, not whereto
  if (isIPv4(bare)) return Uint8Array.from(bare.split('.'), Number)
  return isIPv6(bare) ? sixteenBytes(bare) : undefined
}

/** Four bytes wherever it is IPv4, also where it is written as `::ffff:192.0.2.7`. */
export function canonicalAddress(text: string): Address | undefined {
  const address = parseAddress(text)
  const is_mapped = address?.length === 16 && address.every((byte, at) => at > 11 || byte === (at < 10 ? 0 : 0xff))
  return is_mapped ? address.subarray(12) : address
}

function sixteenBytes(text: string): Address {
  const [before = '', after] = dottedAsHex(text).split('::')
  const front = groups(before)
  const back = after === undefined ? [] : groups(after)
  const bytes = new Uint8Array(16)
  bytes.set(front.flatMap(twoBytes))
  bytes.set(back.flatMap(twoBytes), 16 - 2 * back.length)
  return bytes
}

const groups = (text: string) => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)))
const twoBytes = (group: number) => [group >> 8, group & 0xff]

/** `::ffff:127.0.0.1` is `::ffff:7f00:1`. */
function dottedAsHex(text: string): string {
  const start = text.lastIndexOf(':') + 1
  if (!text.includes('.', start)) return text
  const [a = 0, b = 0, c = 0, d = 0] = text.slice(start).split('.').map(Number)
  return `${text.slice(0, start)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
}

export function parseCidr(text: string): Cidr | undefined {
  const [address = '', bits = ''] = text.split('/')
  const network = parseAddress(address)
  const is_number = /^\d{1,3}$/.test(bits) && text.split('/').length === 2
  return network && is_number && Number(bits) <= network.length * 8 ? { network, bits: Number(bits) } : undefined
}

export function isIn(address: Address, { network, bits }: Cidr): boolean {
  if (address.length !== network.length) return false
  const whole = bits >> 3
  for (let at = 0; at < whole; at++) if (address[at] !== network[at]) return false
  const mask = 0xff & (0xff00 >> (bits & 7))
  return mask === 0 || ((address[whole] as number) & mask) === ((network[whole] as number) & mask)
}
