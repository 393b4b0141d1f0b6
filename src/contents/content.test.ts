// §artifacts: the port to contents, and each of its three adapters against the real thing.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { freshDb, type TestDb } from '../../test/support/databases.ts'
import { upload } from '../../test/support/forms.ts'
import { startS3 } from '../../test/support/s3-server.ts'
import { startService } from '../../test/support/service.ts'
import { randomBase62 } from '../core/ids.ts'
import { sealing } from '../core/sealing.ts'
import { type Contents, openedContent, PART_BYTES, SEALED_PART_BYTES, sealedContent } from './content.ts'
import { databaseContents } from './database-content-store.ts'
import { fileContents } from './file-content-store.ts'
import { s3Contents } from './s3-content-store.ts'

const seals = sealing('a secret for tests, 32 characters or more')
const SIZES = [1, PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 3 * PART_BYTES + 17]

const folder = mkdtempSync(join(tmpdir(), 'switchyard-contents-'))
let database: TestDb
let s3: Awaited<ReturnType<typeof startS3>>
beforeAll(async () => {
  database = await freshDb()
  s3 = await startS3()
})
afterAll(async () => {
  await database.drop()
  await s3.stop()
  rmSync(folder, { recursive: true })
})

const ADAPTERS: [name: string, open: () => Contents][] = [
  ['files', () => fileContents(folder)],
  ['the database', () => databaseContents(database.db)],
  ['S3', () => s3Contents(s3.settings)],
]

async function readBack(contents: Contents, content_id: string, bytes: number): Promise<Buffer> {
  const parts: Buffer[] = []
  const named = { project_id: 'prj_a', content_id, bytes }
  for await (const part of openedContent(seals, named, contents.read(content_id))) parts.push(part)
  return Buffer.concat(parts)
}

describe.each(ADAPTERS)('§artifacts %s', (_name, open) => {
  test.each(SIZES)('§artifacts %i bytes come back as they were, however they came', async (bytes) => {
    const contents = open()
    const plain = randomBytes(bytes)
    const content_id = randomBase62(32)
    const cut = Math.floor(bytes / 3)
    const parts = [plain.subarray(0, cut), plain.subarray(cut, 2 * cut), plain.subarray(2 * cut)]
    const sealed = sealedContent(seals, { project_id: 'prj_a', content_id }, parts)
    expect([...sealed.parts()].reduce((sum, part) => sum + part.length, 0)).toBe(sealed.bytes)
    await contents.write(content_id, sealed)
    expect((await readBack(contents, content_id, bytes)).equals(plain)).toBe(true)
    await contents.erase(content_id)
    await expect(readBack(contents, content_id, bytes)).rejects.toThrow()
    await contents.erase(content_id)
  })
})

test('§artifacts nothing is left where everything was erased', async () => {
  expect([readdirSync(folder), s3.objects()]).toEqual([[], []])
})

test('§artifacts a file is private, and one that was half written goes with the same call', async () => {
  const contents = fileContents(folder)
  await contents.write('whole', sealedContent(seals, { project_id: 'prj_a', content_id: 'whole' }, [Buffer.from('x')]))
  expect((statSync(join(folder, 'whole')).mode & 0o777).toString(8)).toBe('600')
  writeFileSync(join(folder, 'half.part'), 'ha')
  for (const id of ['half', 'whole']) await contents.erase(id)
  expect(readdirSync(folder)).toEqual([])
})

test('§artifacts a part that was changed, moved, left out or added is found', async () => {
  const contents = fileContents(folder)
  const bytes = 3 * PART_BYTES
  const plain = randomBytes(bytes)
  await contents.write('c', sealedContent(seals, { project_id: 'prj_a', content_id: 'c' }, [plain]))
  const file = join(folder, 'c')
  const good = readFileSync(file)
  const part = (n: number) => good.subarray(n * SEALED_PART_BYTES, (n + 1) * SEALED_PART_BYTES)
  const changed = Buffer.from(good)
  changed[100] = (changed[100] ?? 0) ^ 1
  const wrong = [
    changed,
    Buffer.concat([part(1), part(0), part(2)]),
    Buffer.concat([part(0), part(1)]),
    Buffer.concat([part(0), part(2)]),
    Buffer.concat([good, part(2)]),
  ]
  for (const tampered of wrong) {
    writeFileSync(file, tampered)
    await expect(readBack(contents, 'c', bytes)).rejects.toThrow()
  }
  writeFileSync(file, good)
  expect((await readBack(contents, 'c', bytes)).equals(plain)).toBe(true)
  await contents.erase('c')
})

test('§artifacts the service keeps contents in object storage, reads them there, and leaves nothing behind', async () => {
  const contents = { place: 's3' as const, at: { s3: s3Contents(s3.settings) } }
  const service = await startService({ parts: { contents } })
  const text = 'x'.repeat(600_000)
  const { id } = (await upload(service, text)).body
  expect(s3.objects().length).toBeGreaterThan(0)
  expect((await service.get(`/v2/artifacts/${id}/content`)).bytes.toString()).toBe(text)
  await service.del(`/v2/artifacts/${id}`)
  expect(s3.objects()).toEqual([])
})

test('§artifacts object storage that is away, or refuses, is a 503 and no fault', async () => {
  const sealed = () => sealedContent(seals, { project_id: 'prj_a', content_id: 'x' }, [Buffer.from('x')])
  const away = s3Contents({ ...s3.settings, endpoint: 'http://127.0.0.1:9' })
  const refusing = s3Contents({ ...s3.settings, access_key_id: 'NOBODY' })
  for (const contents of [away, refusing])
    await expect(contents.write('x', sealed())).rejects.toMatchObject({ kind: 'unavailable' })
  await expect(readBack(s3Contents(s3.settings), 'never', 1)).rejects.toMatchObject({ kind: 'unavailable' })
})

const listenHere = (server: Server) =>
  new Promise<AddressInfo>((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address() as AddressInfo)))

/** Object storage that has sent a head and some bytes of twelve; what comes of the rest is the test's to say. */
async function sendingSome() {
  const answers: ServerResponse[] = []
  const server = createServer((_request, response) => {
    answers.push(response)
    response.writeHead(200, { 'content-length': '12' }).write('slowly')
  })
  const { port } = await listenHere(server)
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const parts = s3Contents({ ...s3.settings, endpoint: `http://127.0.0.1:${port}` })
    .read('c')
    [Symbol.asyncIterator]()
  const next = async () => Buffer.from((await parts.next()).value ?? '').toString()
  expect(await next()).toBe('slowly')
  return { next, goOn: () => answers[0]?.end(' read.') }
}

test('R78 §artifacts what object storage sends may be read slowly: its time is its own, not the reader’s', async () => {
  const { next, goOn } = await sendingSome()
  vi.advanceTimersByTime(10 * 60_000)
  goOn()
  expect([await next(), await next()]).toEqual([' read.', ''])
})

test('R78 §artifacts object storage that sends nothing for a minute is a 503, and nobody waits longer', async () => {
  const { next } = await sendingSome()
  const waiting = next().catch((error) => error)
  vi.advanceTimersByTime(60_000)
  expect(await waiting).toMatchObject({ kind: 'unavailable' })
})
