// Secrets at rest: AES-256-GCM under a key derived from the server secret and from something the database does not
// hold or cannot swap (R20). A stolen database opens nothing; a row moved to another place does not open either.
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'

const NONCE_BYTES = 12
const TAG_BYTES = 16
const CIPHER = 'aes-256-gcm'

export type Sealing = ReturnType<typeof sealing>

export function sealing(server_secret: string) {
  const keyFor = (ingredient: string, place: string) =>
    Buffer.from(hkdfSync('sha256', ingredient, server_secret, place, 32))

  return {
    /** `ingredient` goes into the key beside the server secret; `place` ties the result to where it is kept. */
    seal(plain: Uint8Array, ingredient: string, place: string): Buffer {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, keyFor(ingredient, place), nonce)
      return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
    },

    /** Throws where the secret, the ingredient or the place is another, or a byte was changed. */
    open(sealed: Uint8Array, ingredient: string, place: string): Buffer {
      const decipher = createDecipheriv(CIPHER, keyFor(ingredient, place), sealed.subarray(0, NONCE_BYTES))
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
      return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
    },

    /** A key of this tenant's own for keyed hashes: what one tenant sees tells nothing of another's (§5.8). */
    tenantKey: (project_id: string) => createHmac('sha256', server_secret).update(`tenant ${project_id}`).digest(),

    /** Tells two server secrets apart without giving either away. */
    fingerprint: () => createHmac('sha256', server_secret).update('switchyard secret fingerprint').digest('base64url'),
  }
}
