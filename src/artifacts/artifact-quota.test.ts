// R70: a project has so many artifacts and bundles and no more, however many ask at once.
import { expect, test } from 'vitest'
import { upload } from '../../test/support/forms.ts'
import { withService } from '../../test/support/service.ts'
import { noGateway } from '../start/gateway-settings.ts'

const URL = '/v2/artifacts'

withService(
  (service) => {
    test('R70 the quota is exact, in number and in bytes, and what goes makes room at once', async () => {
      const home = await service().newProject()
      const MIB = 2 ** 20
      const all = await Promise.all([...'abcdefghijklmnopqrst'].map((letter) => upload(home, letter)))
      expect(all.filter(({ status }) => status === 200)).toHaveLength(5)
      const refused = all.find(({ status }) => status === 429)
      expect(refused?.body.error).toMatchObject({ type: 'quota_exceeded' })
      expect(refused?.body.error.message).toContain('as many artifacts as it may have (5)')
      const list = (await home.get(URL)).body.data as { id: string }[]
      for (const { id } of list.slice(0, 4)) await home.del(`${URL}/${id}`)
      const left = 2 * MIB - 1
      expect((await upload(home, 'a'.repeat(left))).status).toBe(200)
      const over = await service().storingNothing(() => upload(home, 'xy'))
      expect([over.status, over.body.error.message.includes('MiB of artifacts')]).toEqual([429, true])
      // One byte is there of the artifact that was left: not one fits beside.
      expect((await upload(home, 'z')).status).toBe(429)
    })

    test('R70 bundles too: who makes the same again takes nothing, and what goes makes room at once', async () => {
      const home = await service().newProject()
      const turns = [
        (await upload(home, 'a')).body.id,
        (await upload(home, 'b')).body.id,
        (await upload(home, 'c')).body.id,
      ]
      const make = (n: number) => home.post('/v2/bundles', { items: [{ artifact_id: turns[n], role: 'user' }] })
      const made = [await make(0), await make(0), await make(0), await make(1)]
      expect(made.map(({ status }) => status)).toEqual([200, 200, 200, 200])
      const refused = await service().storingNothing(() => make(2))
      expect([refused.status, refused.body.error.message]).toEqual([
        429,
        expect.stringContaining('bundles as it may have (2)'),
      ])
      await home.del(`/v2/bundles/${made[0]?.body.id}`)
      expect((await make(2)).status).toBe(200)
    })
  },
  {
    parts: {
      settings: { ...noGateway(), quotas: { ...noGateway().quotas, artifacts: 5, artifacts_mib: 2, bundles: 2 } },
    },
  },
)
