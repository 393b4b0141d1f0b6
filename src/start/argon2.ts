// Argon2id for passwords, with the parameters that OWASP recommends: 19 MiB, two passes, one lane.
import { hash, verify } from '@node-rs/argon2'
import type { PasswordHashing } from '../accounts/password.ts'

const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const // Argon2id is the library's default

export const argon2: PasswordHashing = {
  hash: (password) => hash(password, COST),
  verify: (known, password) => verify(known, password),
}
