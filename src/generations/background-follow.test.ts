// §4.11: whoever reads the events of a background response lets go of its place, however it ends.
import { connect } from 'node:net'
import Fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { NOON } from '../../test/support/clock.ts'
import { withDb } from '../../test/support/databases.ts'
import { projectIn } from '../../test/support/projects.ts'
import { listenOn } from '../../test/support/sockets.ts'
import { type Tampering, takeAway, tamperedDb } from '../../test/support/tampered-db.ts'
import { sealing } from '../core/sealing.ts'
import { backgroundStore } from '../responses/background-store.ts'
import { backgroundFollowers } from './background-follow.ts'

const seals = sealing('a secret for tests, 32 characters or more')
const REQUEST = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'
const MIB = 1024 * 1024
let responses = 0

withDb((db) => {
  /** A response that somebody runs, with so many events of so many bytes, and a server that tells of it. */
  async function followed(events: number, bytes: number) {
    const project_id = await projectIn(db())
    const id = `resp_follow${++responses}`
    const tampering: Tampering = {}
    const store = backgroundStore(tamperedDb(db(), tampering), seals)
    const asked = { key_id: 'key_1', made_by: null, made_under: null, response: {}, work: undefined }
    await store.insert({ ...asked, id, project_id }, NOON)
    await store.claim('me', NOON)
    const text = `data: ${'x'.repeat(bytes)}\n\n`
    const told = Array.from({ length: events }, (_, number) => ({ number, text, type: 't', response: undefined }))
    await store.addEvents({ project_id, id }, 'me', told)
    const app = Fastify()
    onTestFinished(() => app.close())
    const follow = backgroundFollowers()
    const ended: Promise<unknown>[] = []
    app.get('/', (_request, reply) => {
      const one = follow(store, { project_id, id, after: -1 }, reply)
      ended.push(one.catch((error: Error) => error.message))
      return one
    })
    const { port } = await listenOn(app)
    return { port, ended, tampering }
  }

  test('R78 a reader that leaves while it is far behind is none any more', async () => {
    const { port, ended } = await followed(14, MIB)
    const socket = connect(port, '127.0.0.1').pause()
    socket.write(REQUEST)
    await new Promise((resolve) => socket.once('readable', resolve))
    socket.destroy()
    await expect.poll(() => ended.length).toBe(1)
    expect(await ended[0]).toBeUndefined()
  })

  test('§4.11 where the store is away, a reader’s stream breaks off: it comes again and is not left to wait', async () => {
    const { port, ended, tampering } = await followed(1, 10)
    const socket = connect(port, '127.0.0.1')
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.write(REQUEST)
    await new Promise((resolve) => socket.once('data', resolve))
    const comeBack = takeAway(tampering)
    await closed
    comeBack()
    expect(await ended[0]).toContain('not available')
  })
})
