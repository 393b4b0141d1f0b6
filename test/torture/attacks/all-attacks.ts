// Every attack of a hostile run, by its name.
import { ANSWER_ATTACKS } from './answer-attacks.ts'
import type { Attack } from './attack.ts'
import { EDGE_ATTACKS } from './edge-attacks.ts'
import { MONEY_ATTACKS } from './money-attacks.ts'
import { READING_ATTACKS } from './reading-attacks.ts'
import { SHARED_ATTACKS } from './shared-attacks.ts'
import { STORE_ATTACKS } from './store-attacks.ts'

export const ATTACKS = {
  ...ANSWER_ATTACKS,
  ...MONEY_ATTACKS,
  ...SHARED_ATTACKS,
  ...STORE_ATTACKS,
  ...READING_ATTACKS,
  ...EDGE_ATTACKS,
} satisfies Record<string, Attack>

export type AttackName = keyof typeof ATTACKS
export const ATTACK_NAMES = Object.keys(ATTACKS) as AttackName[]
