// R78: what the contents that prompts refer to may take of the memory, all calls of a project together.
import { expect, test } from 'vitest'
import { upload } from '../support/forms.ts'
import { comesTrue } from '../support/inference-cases.ts'
import { withScene } from '../support/inference-scene.ts'
import { deferred } from '../support/tampered-db.ts'

withScene((scene) => {
  test('R78 a keyed call whose client has left keeps its part of the memory until it has ended', async () => {
    const stage = await scene().stage()
    const large = (await upload(stage, 'x'.repeat(7 * 2 ** 20), { kind: 'text', filename: 'large.text' })).body.id
    const body = {
      messages: [
        { role: 'user', content: Array.from({ length: 4 }, () => ({ type: 'file', file: { file_id: large } })) },
      ],
    }
    const gate = deferred()
    stage.one.behave({ wait: gate.promise })
    const left = async () => (await scene().metrics.aborted.get()).values[0]?.value ?? 0
    for (let n = 1; n <= 4; n++) {
      const before = await left()
      const call = stage.openChat(body, { keyed: `left-${n}` })
      await stage.one.request(n)
      call.leave()
      await comesTrue(async () => (await left()) > before)
    }
    const refused = await stage.chat(body)
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1'])
    gate.resolve()
    await comesTrue(async () => (await stage.chat(body)).status === 200)
  })
})
