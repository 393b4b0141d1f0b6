// Torture of replay runs, in the size that every test run can afford; `npm run torture -- replays` has the full one.
import { test } from 'vitest'
import { sized } from '../support/sizes.ts'
import { expectClean, seed } from '../torture/gates.ts'
import { replays } from '../torture/replays.ts'
import { ENGINES } from '../torture/scene.ts'

test.each(ENGINES)(
  '§8.1 %s: a replay run that is killed again and again asks and charges each item once',
  async (engine) => {
    expectClean(await replays({ items: sized(60), kills: sized(3, 2), engine, seed }))
  },
)
