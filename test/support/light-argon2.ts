// Argon2id as the service has it, with less memory: the same answers in a fifth or a fiftieth of the time. That the real
// one costs what it must, and nobody's hash as much, is for src/accounts/password.test.ts.
import { hash, verify } from '@node-rs/argon2'
import { NOBODYS_HASH, type PasswordHashing } from '../../src/accounts/password.ts'

export function lightArgon2(memory_kib = 256): PasswordHashing {
  const cost = { memoryCost: memory_kib, timeCost: 2, parallelism: 1 } as const
  const nobodys = hash('what nobody has', cost)
  return {
    hash: (password) => hash(password, cost),
    async verify(known, password) {
      const same = await nobodys // for everybody, so that both take the same steps
      return verify(known === NOBODYS_HASH ? same : known, password)
    },
  }
}
