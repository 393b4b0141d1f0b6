// Where Redis Cluster keeps a key, and the shards that counts are spread over: each has a hash tag of its own, so all
// that one decision looks at lies in one slot.

export const SLOTS = 16_384

/** A cluster of more nodes than this has some without counts; each shard costs every replica a greeting a second. */
export const SHARDS = 16

/** CRC16 (XMODEM) of the tag, or of the whole key where it has none. */
export function slotOf(key: string): number {
  const open = key.indexOf('{')
  const close = open < 0 ? -1 : key.indexOf('}', open + 1)
  const hashed = close > open + 1 ? key.slice(open + 1, close) : key
  let crc = 0
  for (const byte of Buffer.from(hashed)) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff
  }
  return crc % SLOTS
}

const TRIES_MAX = 10_000

/** One tag in each sixteenth of the slots, so that nodes which hold ranges of slots hold as many shards each. */
export function shardTags(name: string): string[] {
  const tags: string[] = []
  for (let n = 0, found = 0; found < SHARDS && n < TRIES_MAX; n++) {
    const tag = `{${name}:${n}}`
    const part = Math.floor((slotOf(tag) * SHARDS) / SLOTS)
    if (tags[part] !== undefined) continue
    tags[part] = tag
    found++
  }
  return tags
}

/** FNV-1a: which shard has what is decided together. */
export function shardOf(home: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < home.length; at++) hash = Math.imul(hash ^ home.charCodeAt(at), 0x01000193)
  return ((hash ^ (hash >>> 16)) >>> 0) % SHARDS
}
