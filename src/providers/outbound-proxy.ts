// The proxy that upstreams are reached through, where the operator's network has one: HTTPS_PROXY and NO_PROXY, read
// as other programs do. Plain http upstreams are dialled directly: they stand in the operator's own network.
import { type Address, type Cidr, isIn, parseAddress, parseCidr } from '../core/ip-address.ts'

export interface ProxySettings {
  url: URL
  /** Who is dialled directly. */
  except: readonly NoProxy[]
}

interface NoProxy {
  /** `*` is everybody. */
  host: string
  port: string
  range: Cidr | undefined
}

/** `host`, `.domain`, `host:port`, an address, a CIDR, `*`; commas or blanks between them. */
export function parseNoProxy(text: string): NoProxy[] {
  return text
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .map((entry) => {
      const [, host = '', port = ''] = /^(.*?)(?::(\d+))?$/.exec(isBareIpv6(entry) ? `[${entry}]` : entry) ?? []
      const name = host.replace(/^\[|\]$/g, '')
      return { host: name.replace(/^\*?\./, '').toLowerCase(), port, range: parseCidr(entry) ?? rangeOf(name) }
    })
}

const isBareIpv6 = (entry: string) => !entry.startsWith('[') && entry.split(':').length > 2 && !entry.includes('/')

function rangeOf(text: string): Cidr | undefined {
  const address = parseAddress(text)
  return address && parseCidr(`${text}/${address.length * 8}`)
}

const LOOPBACK = ['127.0.0.0/8', '::1/128'].flatMap((range) => parseCidr(range) ?? [])

/** Undefined where this upstream is dialled directly; this machine itself always is. */
export function proxyFor(upstream: URL, settings: ProxySettings | undefined): URL | undefined {
  if (!settings || upstream.protocol !== 'https:') return undefined
  const host = upstream.hostname.replace(/^\[|\]$/g, '').toLowerCase()
  const port = upstream.port || '443'
  const address = parseAddress(host)
  if (host === 'localhost' || (address && LOOPBACK.some((range) => isIn(address, range)))) return undefined
  return settings.except.some((entry) => isExcepted(entry, host, port, address)) ? undefined : settings.url
}

function isExcepted(entry: NoProxy, host: string, port: string, address: Address | undefined): boolean {
  if (entry.port !== '' && entry.port !== port) return false
  if (address) return entry.host === '*' || (entry.range !== undefined && isIn(address, entry.range))
  return entry.host === '*' || host === entry.host || host.endsWith(`.${entry.host}`)
}
