// Second factors at rest: the secret sealed, recovery codes by their hash. A code is used up by the statement that
// takes it.
import { rfc3339 } from '../core/clock.ts'
import type { Sealing } from '../core/sealing.ts'
import { type Db, sql } from '../storage/db.ts'
import { isRecoveryForm, newFactorSecret, newRecoveryCodes, type SecondFactor, stepOf } from './second-factor.ts'
import { hashSecret } from './secret-token.ts'

interface Row {
  sealed_secret: Uint8Array
  last_step: number
}

const PLACE = 'second factor'

export function secondFactorStore(db: Db, seals: Sealing) {
  /** None where it was sealed with another server secret: then only recovery codes are good. */
  function secretOf(person_id: string, { sealed_secret }: Row): Uint8Array | undefined {
    try {
      return seals.open(sealed_secret, person_id, PLACE)
    } catch {
      return undefined
    }
  }

  function stepIn(person_id: string, row: Row | undefined, code: string, now: number): number | undefined {
    const secret = row && secretOf(person_id, row)
    return secret && stepOf(secret, code, now)
  }

  async function rowOf(person_id: string, confirmed: boolean): Promise<Row | undefined> {
    const [row] = await db.rows<Row & { confirmed_at: string | null }>(sql`
      SELECT sealed_secret, last_step, confirmed_at FROM second_factor WHERE person_id = ${person_id}`)
    return row && (row.confirmed_at !== null) === confirmed ? row : undefined
  }

  /** Of any number that use a code at once, exactly one does; and none of a step before it is good any more. */
  async function useStep(person_id: string, step: number): Promise<boolean> {
    const used = await db.rows(sql`
      UPDATE second_factor SET last_step = ${step}
      WHERE person_id = ${person_id} AND last_step < ${step} RETURNING person_id`)
    return used.length === 1
  }

  return {
    async isEnabled(person_id: string): Promise<boolean> {
      return (await rowOf(person_id, true)) !== undefined
    },

    async describe(person_id: string, has_password: boolean): Promise<SecondFactor> {
      const codes = await db.rows(sql`SELECT hash FROM recovery_code WHERE person_id = ${person_id}`)
      const enabled = await this.isEnabled(person_id)
      return { object: 'second_factor', enabled, recovery_codes_left: enabled ? codes.length : 0, has_password }
    },

    /** A new secret, in the place of one that was not confirmed. Undefined where there is a factor already. */
    async begin(person_id: string, now: number): Promise<Uint8Array | undefined> {
      const secret = newFactorSecret()
      const begun = await db.rows(sql`
        INSERT INTO second_factor (person_id, sealed_secret, last_step, created_at)
        VALUES (${person_id}, ${seals.seal(secret, person_id, PLACE)}, 0, ${rfc3339(now)})
        ON CONFLICT (person_id) DO UPDATE
          SET sealed_secret = excluded.sealed_secret, last_step = 0, created_at = excluded.created_at
          WHERE second_factor.confirmed_at IS NULL
        RETURNING person_id`)
      return begun.length === 1 ? secret : undefined
    },

    async isBegun(person_id: string): Promise<boolean> {
      return (await rowOf(person_id, false)) !== undefined
    },

    /** The recovery codes, told here, once; undefined where the code is wrong. */
    async confirm(person_id: string, code: string, now: number): Promise<string[] | undefined> {
      const step = stepIn(person_id, await rowOf(person_id, false), code, now)
      if (step === undefined || !(await useStep(person_id, step))) return undefined
      const confirmed = await db.rows(sql`
        UPDATE second_factor SET confirmed_at = ${rfc3339(now)}
        WHERE person_id = ${person_id} AND confirmed_at IS NULL RETURNING person_id`)
      if (confirmed.length === 0) return undefined
      await db.rows(sql`DELETE FROM recovery_code WHERE person_id = ${person_id}`)
      const codes = newRecoveryCodes()
      for (const one of codes)
        await db.rows(sql`INSERT INTO recovery_code (person_id, hash) VALUES (${person_id}, ${hashSecret(one)})`)
      return codes
    },

    /** Whether the code is good. From now on it is not. */
    async use(person_id: string, code: string, now: number): Promise<boolean> {
      if (isRecoveryForm(code)) {
        const gone = await db.rows(sql`
          DELETE FROM recovery_code WHERE person_id = ${person_id} AND hash = ${hashSecret(code.trim())}
          RETURNING hash`)
        return gone.length === 1
      }
      const step = stepIn(person_id, await rowOf(person_id, true), code, now)
      return step !== undefined && useStep(person_id, step)
    },
  }
}

/** False where there was none. */
export async function removeSecondFactor(db: Db, person_id: string): Promise<boolean> {
  await db.rows(sql`DELETE FROM recovery_code WHERE person_id = ${person_id}`)
  const gone = await db.rows(sql`DELETE FROM second_factor WHERE person_id = ${person_id} RETURNING person_id`)
  return gone.length === 1
}
