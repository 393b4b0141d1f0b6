// R78: slots are kept for other projects where there are any.
import { expect, test } from 'vitest'
import { ENGINE } from '../../test/support/databases.ts'
import { startService } from '../../test/support/service.ts'

test(`R78 ${ENGINE}: until somebody has looked there may be other projects; then it is as the store says`, async () => {
  const service = await startService()
  const { neighbours } = service.inference
  expect(neighbours.has()).toBe(true)
  await service.housekeep('look for other projects')
  expect(neighbours.has()).toBe(false)
  await service.newProject()
  await service.housekeep('look for other projects')
  expect(neighbours.has()).toBe(true)
})
