// R78: what the contents that prompts refer to may take of the memory, all calls of a project together.
import { expect, test } from 'vitest'
import { upload } from '../support/forms.ts'
import { comesTrue } from '../support/inference-cases.ts'
import { withScene } from '../support/inference-scene.ts'
import { countStatements, deferred } from '../support/tampered-db.ts'

/** What one project may have here of the memory. */
const ROOM_OF_ONE = 2 ** 20
/** The least room there is, in small: a sixty-fourth of it. */
const parts = { memory_bytes: 0, least_rooms: { expansions: 2 * ROOM_OF_ONE } }

withScene(
  (scene) => {
    test('R78 a keyed call whose client has left keeps its part of the memory until it has ended', async () => {
      const stage = await scene().stage()
      const text = 'x'.repeat(ROOM_OF_ONE / 36) // four of them, in two copies, are two ninths of it
      const large = (await upload(stage, text, { kind: 'text', filename: 'large.text' })).body.id
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

    test('R78 where there is no room, neither what a prompt names nor what a bundle is made of is read: 503', async () => {
      const stage = await scene().stage()
      const file = async (letter: string) =>
        (await upload(stage, letter.repeat((7 * ROOM_OF_ONE) / 64), { filename: `${letter}.text` })).body.id
      const [large, text] = [await file('x'), await file('y')]
      const naming = (...ids: string[]) => ({
        messages: [{ role: 'user', content: ids.map((file_id) => ({ type: 'file', file: { file_id } })) }],
      })
      const gate = deferred()
      stage.one.behave({ wait: gate.promise })
      const call = stage.chat(naming(large, large, large, large))
      await stage.one.request(1)
      const statements = countStatements(scene().tampering)
      const refused: unknown[] = []
      const read = await statements.while(async () => {
        for (const { status, headers } of [
          await stage.chat(naming(text)),
          await stage.ask('/v2/bundles', { body: { items: [{ artifact_id: text, role: 'user' }] } }),
        ])
          refused.push([status, headers['retry-after']])
      })
      scene().tampering.rows = undefined
      gate.resolve()
      expect(read.filter((statement) => statement.includes('FROM artifact_content'))).toEqual([])
      expect(refused).toEqual([
        [503, '1'],
        [503, '1'],
      ])
      expect((await call).status).toBe(200)
      expect((await stage.chat(naming(text))).status).toBe(200)
    })
  },
  { stages: 2, parts },
)
