// R77: answers and stored responses of megabytes are kept in parts, and nobody can tell: a replay has the same bytes, a
// chain goes on, and a purge leaves none of it.
import { expect, test } from 'vitest'
import { sql } from '../../src/storage/db.ts'
import { type Stage, withScene } from '../support/inference-scene.ts'

const TEXT = 'a long answer '.repeat(60_000)

withScene((scene) => {
  async function partsOf(stage: Stage): Promise<number> {
    return (
      await scene().db.rows(
        sql`SELECT parts_id FROM large_body_part WHERE project_id = ${stage.project.id} AND part = 0`,
      )
    ).length
  }

  async function saying(text: string): Promise<Stage> {
    const stage = await scene().stage({ key: 1_000_000_000 })
    stage.one.behave({ text, chunks: 20, usage: { input: 11, output: 7 } })
    return stage
  }

  const ASKED: [what: string, path: string, body: (stage: Stage) => object][] = [
    ['chat', '/v1/chat/completions', (stage) => stage.bodyOf({})],
    ['a stream', '/v1/chat/completions', (stage) => stage.bodyOf({ stream: true })],
    ['a native response', '/v2/responses', ({ model }) => ({ model, input: 'hi', store: false })],
    ['a stored response', '/v1/responses', ({ model }) => ({ model, input: 'hi' })],
  ]

  test.each(ASKED)(
    'R77, §11.4 %s of megabytes is replayed byte for byte, and charged once',
    async (what, path, body) => {
      const stage = await saying(TEXT)
      const key = what.replaceAll(' ', '-')
      const ask = () => stage.ask(path, { body: body(stage), headers: { 'agent-idempotency-key': key } })
      const first = await ask()
      const again = await ask()
      expect([first.status, again.status, again.headers['agent-idempotent-replay']]).toEqual([200, 200, 'true'])
      expect(first.text.length).toBeGreaterThan(TEXT.length)
      expect(again.text === first.text).toBe(true)
      expect((await stage.audit()).events).toHaveLength(1)
      expect(await partsOf(stage)).toBe(what === 'a stored response' ? 2 : 1)
    },
  )

  test('R77 a large response is read back, chained to and deleted', async () => {
    const stage = await saying(TEXT)
    const first = await stage.ask('/v1/responses', { body: { model: stage.model, input: 'hi' } })
    const { id } = first.json
    const read = (await stage.get(`/v1/responses/${id}`)).body
    expect(read.output).toEqual(first.json.output)
    stage.one.behave({ text: 'short' })
    const next = await stage.ask('/v1/responses', {
      body: { model: stage.model, input: 'and?', previous_response_id: id },
    })
    expect(next.status).toBe(200)
    expect(JSON.stringify(stage.one.requests.at(-1)?.body).length).toBeGreaterThan(TEXT.length)
    expect(await partsOf(stage)).toBe(1)
    expect((await stage.send('DELETE', `/v1/responses/${id}`, {})).status).toBe(200)
    expect(await partsOf(stage)).toBe(0)
  })

  test('R77 a large prompt that is stored lies in parts too', async () => {
    const stage = await saying('short')
    const input = 'a long question '.repeat(60_000)
    expect((await stage.ask('/v1/responses', { body: { model: stage.model, input } })).status).toBe(200)
    expect(await partsOf(stage)).toBe(1)
  })
})
