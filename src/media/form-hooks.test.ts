// §4.11, R78: forms that find no room, in what a project may have on the way or on disk: refused before anybody is asked,
// and what they had taken is given back.
import Fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { memoryRoom } from '../core/memory-room.ts'
import { readForms } from './form-hooks.ts'

const KIB = 1024

async function serve() {
  const room = memoryRoom({ bytes: 200 * KIB, bytes_of_one: 100 * KIB }, 'images and sounds')
  const app = Fastify()
  let taken = 0
  readForms(app, room)
  app.addHook('onRequest', async (request) => {
    Object.assign(request, { caller: { project_id: String(request.headers.project ?? 'a') } })
  })
  app.post('/', async (request) => {
    taken++
    return { parts: request.received_form?.parts.length }
  })
  onTestFinished(() => app.close())
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const send = async (bytes: number, project = 'a') => {
    const body = new FormData()
    body.append('model', 'hear')
    body.append('file', new Blob([Buffer.alloc(bytes)]), 'sound.mp3')
    const answer = await fetch(origin, { method: 'POST', body, headers: { project } })
    const json = (await answer.json()) as { message?: string; parts?: number }
    return { status: answer.status, json }
  }
  return { room, send, taken: () => taken }
}

test('R78 a form beyond what a project may have on the way is refused, and takes no room', async () => {
  const { room, send, taken } = await serve()
  const refused = await send(150 * KIB)
  expect([refused.status, taken()]).toEqual([503, 0])
  expect(refused.json.message).toContain('Too many images and sounds are under way')
  await expect.poll(() => room.taken()).toBe(0)
  expect((await send(90 * KIB)).json).toEqual({ parts: 2 })
  await expect.poll(() => room.taken()).toBe(0)
})

test('R78 what all projects have on the way is bounded, and a project that waits does not take another’s', async () => {
  const { room, send, taken } = await serve()
  const held = [room.place('b'), room.place('c')]
  for (const place of held) place.take(95 * KIB)
  expect([(await send(90 * KIB)).status, taken()]).toEqual([503, 0])
  held[0]?.giveBack()
  expect((await send(90 * KIB)).json).toEqual({ parts: 2 })
  await expect.poll(() => room.taken()).toBe(95 * KIB)
})

test('R78 a disk that takes no more is 503 in words of its own, and no room stays taken', async () => {
  const { TMPDIR } = process.env
  onTestFinished(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  })
  const { room, send, taken } = await serve()
  process.env.TMPDIR = '/nowhere/at/all'
  const refused = await send(90 * KIB)
  expect([refused.status, refused.json.message, taken()]).toEqual([503, expect.stringContaining('no room on disk'), 0])
  await expect.poll(() => room.taken()).toBe(0)
  expect((await send(10 * KIB)).status).toBe(200) // which needs none
})
