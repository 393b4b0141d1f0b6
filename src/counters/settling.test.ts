// How a replica comes back to Redis, over a link whose answers the test makes.
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { deferred } from '../../test/support/tampered-db.ts'
import type { Link } from './redis-link.ts'
import { redisSession, type SessionNeeds } from './redis-session.ts'

const SETTLING_MS = 50

/** Comes back once, and says what Redis was asked for until it decided again. */
async function turnsUntilBack(settling: () => ReturnType<SessionNeeds['resync']>): Promise<string[]> {
  const turns: string[] = []
  const back = deferred()
  const link: Link = { run: async () => {}, remove: async () => {}, quit: async () => {}, drop() {} }
  const session = redisSession({
    settling_ms: SETTLING_MS,
    dial: async () => link,
    async resync(_link, turn) {
      turns.push(turn)
      if (turn === 'settling') return settling()
      return turns.length === 1 ? 'first' : 'same'
    },
    onChange: ({ away }) => void (!away && turns.length > 1 && back.resolve()),
  })
  onTestFinished(() => session.close())
  await session.start()
  session.lost(link, new Error('an answer was late'))
  await back.promise
  return turns.filter((turn) => turn !== 'beat')
}

test('R50 telling what was missed ends by time: a Redis whose every answer takes long is not told for longer', async () => {
  const slow = async () => {
    await sleep(SETTLING_MS)
    return 'same' as const
  }
  expect(await turnsUntilBack(slow)).toEqual(['connect', 'connect', 'settling'])
})

test('R50 a Redis that answers at once is told again and again meanwhile; one that forgets is told from the start', async () => {
  const quick = await turnsUntilBack(async () => 'same')
  expect(quick.length).toBeGreaterThan(3)
  let answers = 0
  const forgetful = await turnsUntilBack(async () => {
    await sleep(SETTLING_MS)
    return answers++ === 0 ? 'forgotten' : 'same'
  })
  expect(forgetful).toEqual(['connect', 'connect', 'settling', 'settling'])
})
