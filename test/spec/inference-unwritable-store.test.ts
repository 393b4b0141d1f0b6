// R21, R43 while the store answers and takes no writes, as a primary that became read-only or a disk that refused a
// flush: of calls that need nothing of it beforehand, only so many are given away before nothing is dialled any more.
import { expect, test } from 'vitest'
import { isRead, unavailable } from '../../src/storage/db.ts'
import { AWAY, asked, comesTrue, envelope, UNKEYED } from '../support/inference-cases.ts'
import { type Stage, USUAL_COST, withScene } from '../support/inference-scene.ts'
import type { Tampering } from '../support/tampered-db.ts'

const GIVEN_AWAY_MOST = 16

/** Reads go on; the returned function lets writes through again. */
function takeNoWrites(tampering: Tampering): () => void {
  const refused = () => Promise.reject(unavailable(new Error('cannot execute INSERT in a read-only transaction')))
  tampering.rows = (statement, run) => (isRead(statement) ? run(statement) : refused())
  tampering.transaction = refused
  return () => Object.assign(tampering, { rows: undefined, transaction: undefined })
}

withScene((scene) => {
  async function takesCalls(stage: Stage): Promise<boolean> {
    const { status } = await stage.chat()
    return status === 200
  }

  test.each(UNKEYED)('R21 calls without a limit are refused before they are dialled: $form', async (one) => {
    const stage = await scene().stage()
    const bringBack = takeNoWrites(scene().tampering)
    const statuses: number[] = []
    for (let n = 0; n < 2 * GIVEN_AWAY_MOST; n++) statuses.push((await stage.chat(...asked(one))).status)
    expect(stage.one.requests).toHaveLength(GIVEN_AWAY_MOST)
    expect(statuses.slice(GIVEN_AWAY_MOST)).toEqual(Array(GIVEN_AWAY_MOST).fill(503))
    const refused = await stage.chat(...asked(one, { model: stage.both }))
    expect([envelope(refused), refused.headers['retry-after']]).toEqual([AWAY, '2'])
    expect([stage.one.requests.length, stage.two.requests.length]).toEqual([GIVEN_AWAY_MOST, 0])

    bringBack()
    await comesTrue(() => takesCalls(stage))
    const charged = one.stream ? GIVEN_AWAY_MOST + 1 : 1 // what was delivered is paid for, what was refused is not
    await stage.until(({ events }) => events.length === charged)
    expect((await stage.audit()).spent).toBe(charged * USUAL_COST)
  })
})
