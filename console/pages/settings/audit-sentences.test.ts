// Every deed that the service puts on record is told in a sentence; one that is not known is told as it is.
import { expect, test } from 'vitest'
import { actionOf, isAudited } from '../../../src/audit/audit.ts'
import { startService } from '../../../test/support/service.ts'
import { deedName, pageOfThing, SENTENCES, sentenceOf } from './audit-sentences.ts'

test('§8.2 every audited endpoint of the service has a sentence, and every sentence an endpoint', async () => {
  const { routes } = await startService()
  const audited = routes.flatMap(({ method, url, config }) =>
    [method].flat().flatMap((one) => (config?.audited || isAudited(one, config?.scope) ? [actionOf(one, url)] : [])),
  )
  expect(audited.length).toBeGreaterThan(40)
  expect(audited.filter((action) => !(action in SENTENCES))).toEqual([])
  const told = Object.keys(SENTENCES).filter((action) => / \/v2\//.test(action))
  expect(told.filter((action) => !audited.includes(action))).toEqual([])
})

test.each([
  ['POST /v2/api-keys', 'key_1', ['created the key ', '', 'key_1'], 'Created the key', '/keys/key_1'],
  ['DELETE /v2/members/{person_id}', 'usr_1', ['removed ', ' from the project', 'usr_1'], 'Removed from the project'],
  ['POST /v2/project/cap', 'prj_1', ['set the spending cap of the project', '', undefined]],
  ['POST /v2/unheard/of', 'xyz_1', ['called POST /v2/unheard/of on ', '', 'xyz_1'], 'POST /v2/unheard/of'],
  ['POST /v2/unheard/of', undefined, ['called POST /v2/unheard/of', '', undefined]],
] as const)(
  '§8.2 %s on %s is told as a sentence',
  (action, target, [before, after, thing], name?: string, page?: string) => {
    expect(sentenceOf(action, target)).toEqual({ before, after, thing })
    if (name) expect(deedName(action)).toBe(name)
    if (page && target) expect(pageOfThing(target)).toBe(page)
  },
)
