// Secrets at rest: AES-256-GCM under a key derived from the server secret and from something the database does not
// hold or cannot swap (R20). A stolen database opens nothing; a row moved to another place does not open either.
import { type BinaryLike, createCipheriv, createDecipheriv, createHmac } from 'node:crypto'
import { randomNonce } from './ids.ts'

const NONCE_BYTES = 12
const TAG_BYTES = 16
const CIPHER = 'aes-256-gcm'

const LAST_BLOCK = '\x01'

function hmac(key: BinaryLike, ...parts: readonly string[]): Buffer {
  const mac = createHmac('sha256', key)
  for (const part of parts) mac.update(part)
  return mac.digest()
}

export type Sealing = ReturnType<typeof sealing>

export function sealing(server_secret: string) {
  // HKDF with one block of output (RFC 5869), which is two HMACs; Node's own takes longer to begin than these to end.
  const keyFor = (ingredient: string, place: string) => hmac(hmac(server_secret, ingredient), place, LAST_BLOCK)

  return {
    /**
     * `ingredient` goes into the key beside the server secret; `place` ties the result to where it is kept. What comes
     * in parts is sealed as one, without being copied together first.
     */
    seal(plain: Uint8Array | readonly Uint8Array[], ingredient: string, place: string): Buffer {
      const nonce = randomNonce(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, keyFor(ingredient, place), nonce)
      const sealed = plain instanceof Uint8Array ? [cipher.update(plain)] : plain.map((part) => cipher.update(part))
      return Buffer.concat([nonce, ...sealed, cipher.final(), cipher.getAuthTag()])
    },

    /** Throws where the secret, the ingredient or the place is another, or a byte was changed. */
    open(sealed: Uint8Array, ingredient: string, place: string): Buffer {
      const decipher = createDecipheriv(CIPHER, keyFor(ingredient, place), sealed.subarray(0, NONCE_BYTES))
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
      return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
    },

    /** A key of this tenant's own for keyed hashes: what one tenant sees tells nothing of another's (§5.8). */
    tenantKey: (project_id: string) => hmac(server_secret, `tenant ${project_id}`),

    /** A signature of this server's, in base64url. What is signed for one purpose is not for another. */
    sign: (purpose: string, text: string) => hmac(hmac(server_secret, `sign ${purpose}`), text).toString('base64url'),

    /** Tells two server secrets apart without giving either away. */
    fingerprint: () => hmac(server_secret, 'switchyard secret fingerprint').toString('base64url'),
  }
}
