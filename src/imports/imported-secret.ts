// Keys that another gateway gave out. They are known here by the same hash as our own (R5), whoever made it.
import { hashKey } from '../keys/key.ts'

const RAW = /^[\x21-\x7e]{16,1024}$/
export const RAW_WORDS = '16 to 1024 visible ASCII characters'

/** Undefined for what is too short to be a secret, or no key at all. */
export const hashOfRaw = (raw: string): string | undefined => (RAW.test(raw) ? hashKey(raw) : undefined)

/** SHA-256 in hex, as LiteLLM stores it, in our spelling. */
export const hashOfHex = (hex: string): string | undefined =>
  /^[0-9a-f]{64}$/i.test(hex) ? Buffer.from(hex, 'hex').toString('base64url') : undefined

/** Less of it than of ours is shown: these are shorter. */
export const maskedRaw = (raw: string) => `${raw.slice(0, 3)}…${raw.slice(-4)}`
