// What a password must be, and how checking one is bounded: a hash costs 19 MiB and some 20 ms on purpose, so only a
// few are made at a time, a few more may wait, and the rest is refused.
import { Type } from 'typebox'
import { Refusal } from '../core/refusal.ts'

export const PASSWORD_MIN = 12
const PASSWORD_MAX = 256

export const Password = Type.String({
  minLength: 1,
  maxLength: PASSWORD_MAX,
  description: `At least ${PASSWORD_MIN} characters.`,
})

/** Two keyboards may spell the same letter with other code points. */
export const canonical = (password: string) => password.normalize('NFKC')

export function acceptable(password: string): string {
  if ([...password].length < PASSWORD_MIN)
    throw new Refusal('invalid_request', `'password' must have at least ${PASSWORD_MIN} characters.`)
  return password
}

/** THE PORT: Argon2id, wherever it comes from. A hash is a PHC text that names its own parameters. */
export interface PasswordHashing {
  hash(password: string): Promise<string>
  verify(hash: string, password: string): Promise<boolean>
}

/** Of a password that nobody has, with the same parameters: an unknown address costs as much as a known one. */
export const NOBODYS_HASH =
  '$argon2id$v=19$m=19456,t=2,p=1$+TBTN03v08wSGaFPZUr14g$SGPzLoeZLwtuZWzz3Vu1XI/+x/cQhTbK+5eKgYksSF8'

export interface Bounds {
  at_once: number
  waiting: number
}

const BOUNDS: Bounds = { at_once: 2, waiting: 32 }

export type Passwords = ReturnType<typeof boundedPasswords>

export function boundedPasswords({ hash, verify }: PasswordHashing, { at_once, waiting }: Bounds = BOUNDS) {
  const queue: (() => void)[] = []
  let running = 0

  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (running < at_once) running++
    else if (queue.length < waiting) await new Promise<void>((resolve) => queue.push(resolve))
    else throw busy()
    try {
      return await work()
    } finally {
      const next = queue.shift()
      if (next)
        next() // hands its place over, so `running` stays
      else running--
    }
  }

  return {
    hash: (password: string) => inTurn(() => hash(canonical(acceptable(password)))),

    /** Without a hash to compare with, the same work is done, and the answer is no. */
    async matches(password: string, known: string | null | undefined): Promise<boolean> {
      const same = await inTurn(() => verify(known ?? NOBODYS_HASH, canonical(password)))
      return same && known != null
    },
  }
}

export class Busy extends Refusal {}

const busy = () =>
  new Busy('rate_limited', 'Too many passwords are being checked at once. Try again in a second.', {
    headers: { 'retry-after': '1' },
  })
