// §artifacts: what crashes, failures and races leave of uploads and deletions: nothing half, and nothing for good.
import type { Server } from 'node:http'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { artifactForm, FORM_TYPE, upload } from '../../test/support/forms.ts'
import { startService } from '../../test/support/service.ts'
import { cutOffNextCommit } from '../../test/support/tampered-db.ts'
import type { ContentPlaces, Contents, SealedContent } from '../contents/content.ts'
import { MINUTE_MS } from '../core/clock.ts'
import { memoryRoom } from '../core/memory-room.ts'
import { type Db, sql } from '../storage/db.ts'

/** Contents in memory that can be made to fail, or to wait. */
function brittleContents() {
  const held = new Map<string, Buffer>()
  const faults = { write: async () => {}, erase: async () => {} }
  const contents: Contents = {
    async write(content_id: string, content: SealedContent) {
      await faults.write()
      held.set(content_id, Buffer.concat([...content.parts()]))
    },
    async *read(content_id) {
      yield held.get(content_id) ?? Buffer.alloc(0)
    },
    async erase(content_id) {
      await faults.erase()
      held.delete(content_id)
    },
  }
  const places: ContentPlaces = { place: 'files', at: { files: contents } }
  return { held, faults, parts: { contents: places } }
}

const count = async (db: Db) => {
  const [row] = await db.rows<{ artifacts: number; loose: number }>(sql`
    SELECT (SELECT COUNT(*) FROM artifact) AS artifacts, (SELECT COUNT(*) FROM artifact_loose_content) AS loose`)
  return [Number(row?.artifacts), Number(row?.loose)]
}

const fails = async () => {
  throw new Error('the disk is full')
}

test('§artifacts contents that cannot be written leave nothing, and no place is taken', async () => {
  const { held, faults, parts } = brittleContents()
  const service = await startService({ parts })
  faults.write = fails
  expect((await upload(service, 'x')).status).toBe(500)
  expect([...(await count(service.db)), held.size]).toEqual([0, 0, 0])
  const quota = await service.db.rows(
    sql`SELECT present FROM project_quota WHERE kind LIKE 'artifacts%' AND present > 0`,
  )
  expect(quota).toEqual([])
})

test.each([true, false])(
  '§artifacts a commit of which nobody heard (happened: %s): no artifact without its contents, and none for good',
  async (happened) => {
    const { held, parts } = brittleContents()
    const service = await startService({ parts })
    cutOffNextCommit(service.tampering, happened)
    expect((await upload(service, 'x')).status).toBe(503)
    expect(held.size).toBe(1) // where no row has it, the sweep comes to it
    const { id } = (await upload(service, 'x')).body
    expect((await service.get(`/v2/artifacts/${id}/content`)).bytes.toString()).toBe('x')
    service.clock.advance(11 * MINUTE_MS)
    await service.housekeep('sweep contents')
    expect([...(await count(service.db)), held.size]).toEqual([1, 0, 1])
  },
)

test('§artifacts what could not be erased is erased by the sweep, and counts no more', async () => {
  const { held, faults, parts } = brittleContents()
  const service = await startService({ parts })
  const { id } = (await upload(service, 'x')).body
  const { erase } = faults
  faults.erase = fails
  expect((await service.del(`/v2/artifacts/${id}`)).status).toBe(200)
  expect([...(await count(service.db)), held.size]).toEqual([0, 1, 1])
  service.clock.advance(1)
  await expect(service.housekeep('sweep contents')).rejects.toThrow('disk is full')
  faults.erase = erase
  service.clock.advance(1)
  await service.housekeep('sweep contents')
  expect([...(await count(service.db)), held.size]).toEqual([0, 0, 0])
})

test('§artifacts a writer that was taken for dead is fenced out: no artifact without its contents', async () => {
  const { held, faults, parts } = brittleContents()
  const service = await startService({ parts })
  let goOn = () => {}
  const waiting = new Promise<void>((resolve) => {
    faults.write = () =>
      new Promise<void>((later) => {
        goOn = later
        resolve()
      })
  })
  const slow = upload(service, 'slow')
  await waiting
  await service.housekeep('sweep contents') // too early: it may be under way
  expect((await count(service.db))[1]).toBe(1)
  service.clock.advance(11 * MINUTE_MS)
  await service.housekeep('sweep contents')
  goOn()
  expect((await slow).status).toBe(503)
  expect([...(await count(service.db)), held.size]).toEqual([0, 0, 0])
})

test('§artifacts a server that starts alone takes whatever was being written for left behind', async () => {
  const { parts } = brittleContents()
  const service = await startService({ parts })
  await service.db.rows(sql`
    INSERT INTO artifact_loose_content (content_id, place, state, since_ms)
    VALUES ('left', 'files', 'writing', ${service.clock.now()})`)
  await service.contents.nobodyWrites()
  service.clock.advance(1)
  await service.housekeep('sweep contents')
  expect(await count(service.db)).toEqual([0, 0])
})

test('§artifacts memory is given back by every upload: finished, refused, or left by its client', async () => {
  const service = await startService()
  const { port } = await service.listen()
  await upload(service, 'x'.repeat(100_000))
  await upload(service, 'x'.repeat(100_000), { kind: 'image' })
  expect(service.uploads.taken()).toBe(0)
  const form = artifactForm('y'.repeat(1_000_000))
  const socket = connect(port, '127.0.0.1')
  socket.write(
    `POST /v2/artifacts HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${service.key}\r\n` +
      `content-type: ${FORM_TYPE}\r\ncontent-length: ${form.length}\r\n\r\n`,
  )
  socket.write(form.subarray(0, 600_000))
  await expect.poll(() => service.uploads.taken()).toBeGreaterThan(500_000)
  socket.destroy()
  await expect.poll(() => service.uploads.taken()).toBe(0)
  expect(await count(service.db)).toEqual([1, 0])
})

test('R78 whoever leaves while their upload is being stored has its bytes counted until it is', async () => {
  const { faults, parts } = brittleContents()
  const service = await startService({ parts })
  const { port } = await service.listen()
  let goOn = () => {}
  const writing = new Promise<void>((resolve) => {
    faults.write = () =>
      new Promise<void>((later) => {
        goOn = later
        resolve()
      })
  })
  const form = artifactForm('y'.repeat(1_000_000))
  const socket = connect(port, '127.0.0.1')
  socket.write(
    `POST /v2/artifacts HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${service.key}\r\n` +
      `content-type: ${FORM_TYPE}\r\ncontent-length: ${form.length}\r\n\r\n`,
  )
  socket.write(form)
  await writing
  socket.destroy()
  await expect.poll(() => connections(service.app.server)).toBe(0)
  expect(service.uploads.taken()).toBeGreaterThan(900_000)
  goOn()
  await expect.poll(() => service.uploads.taken()).toBe(0)
})

test('§artifacts contents that cannot be read are told as such, before anything is sent', async () => {
  const { held, parts } = brittleContents()
  const service = await startService({ parts })
  const { id } = (await upload(service, 'x'.repeat(300_000))).body
  held.clear()
  const answer = await service.get(`/v2/artifacts/${id}/content`)
  expect([answer.status, answer.body.error.type, answer.headers['content-disposition']]).toEqual([
    500,
    'server_error',
    undefined,
  ])
})

test('R78 the room for uploads is bounded, over all and for one project, and told as a 503', () => {
  const room = memoryRoom({ bytes: 100, bytes_of_one: 70 }, 'uploads')
  const [first, second, other] = [room.place('a'), room.place('a'), room.place('b')]
  first.take(60)
  expect(() => second.take(11)).toThrow(expect.objectContaining({ kind: 'unavailable' }))
  other.take(40)
  expect(() => other.take(1)).toThrow('Too many uploads')
  first.giveBack()
  first.giveBack()
  expect(room.taken()).toBe(40)
  second.take(60)
  other.giveBack()
  second.giveBack()
  expect(room.taken()).toBe(0)
})

const connections = (server: Server) =>
  new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)))
