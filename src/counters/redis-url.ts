// What REDIS_URL names: one Redis, or some nodes of a cluster from which the others are learnt.

export interface RedisPlace {
  kind: 'one' | 'cluster'
  /** A URL for each node that is named. */
  nodes: readonly string[]
}

export const NODES_MAX = 32

/** Undefined where the text is no such URL. */
export function parseRedisUrl(text: string): RedisPlace | undefined {
  const [, scheme = '', cluster, rest = ''] = /^(rediss?)(\+cluster)?:\/\/(.+)$/s.exec(text) ?? []
  if (cluster === undefined) return isOne(text) ? { kind: 'one', nodes: [text] } : undefined
  const at = rest.lastIndexOf('@') + 1
  const hosts = rest.slice(at).replace(/\/0?$/, '').split(',')
  const nodes = hosts.map((host) => `${scheme}://${rest.slice(0, at)}${host}`)
  const is_whole = hosts.every((host) => /^[^/\s]+$/.test(host)) && nodes.length <= NODES_MAX && nodes.every(isOne)
  return is_whole ? { kind: 'cluster', nodes } : undefined
}

function isOne(text: string): boolean {
  if (!/^rediss?:\/\//.test(text) || !URL.canParse(text)) return false
  const { hostname, pathname, search } = new URL(text)
  return hostname !== '' && /^\/?\d*$/.test(pathname) && search === ''
}

/** The same way in, to another node: `address` is a host and a port. */
export function withAddress(url: string, address: string): string {
  const [, before = ''] = /^(rediss?:\/\/(?:[^/]*@)?)/.exec(url) ?? []
  return before + address
}

export function addressOf(url: string): string {
  const { hostname, port } = new URL(url)
  return `${hostname}:${port || 6379}`
}

/** As nodes write it, where an IPv6 address has no brackets; undefined where it names no port. */
export function parseAddress(text: string, same_host: string): string | undefined {
  const [, host = '', port] = /^(.*):(\d+)(?:@\d+)?(?:,.*)?$/.exec(text) ?? []
  if (port === undefined) return undefined
  if (host === '' || host === '?') return `${same_host}:${port}`
  return host.includes(':') && !host.startsWith('[') ? `[${host}]:${port}` : `${host}:${port}`
}
