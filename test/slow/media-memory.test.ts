// §4.11, R77: of forms on their way no more than 1 MiB each is in memory. Measured from outside, on the real server: two
// transcriptions of 96 MiB at once, to an upstream that reads slower than they come.
import { createServer, request } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { peakMemoryMb, resetPeakMemory } from '../torture/machine-figures.ts'
import { openScene } from '../torture/scene.ts'

const MIB = 2 ** 20
const UPLOAD_MIB = 96
/** Buffers of sockets and of the disk, and garbage not yet collected; 192 MiB of uploads would stand out. */
const GROWTH_MAX_MIB = 80

async function startHearing() {
  let heard = 0
  const server = createServer((incoming, response) => {
    incoming.on('data', (part: Buffer) => {
      heard += part.length
    })
    incoming.on('end', () => {
      response.setHeader('content-type', 'application/json')
      response.end('{"text":"hm","usage":{"type":"duration","seconds":1}}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as { port: number }
  return { port, heard: () => heard }
}

const BOUNDARY = 'switchyard-test'
const field = (name: string, value: string) =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
const HEAD = `${field('model', 'hear')}--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.mp3"\r\nContent-Type: audio/mpeg\r\n\r\n`
const FOOT = `\r\n--${BOUNDARY}--\r\n`

function transcribe(port: number, token: string, mib: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
      'content-length': HEAD.length + mib * MIB + FOOT.length,
    }
    const call = request({ port, path: '/v1/audio/transcriptions', method: 'POST', headers }, (answer) => {
      answer.resume()
      answer.once('end', () => resolve(answer.statusCode ?? 0))
    })
    call.once('error', reject)
    call.write(HEAD)
    let sent = 0
    const more = () => {
      while (sent < mib) {
        sent++
        if (!call.write(Buffer.alloc(MIB, sent))) return void call.once('drain', more)
      }
      call.end(FOOT)
    }
    more()
  })
}

test(`R77 two uploads of ${UPLOAD_MIB} MiB at once: the server grows by less than ${GROWTH_MAX_MIB} MiB`, async () => {
  const hearing = await startHearing()
  const scene = await openScene({
    engine: 'sqlite',
    providers: `providers:
  - id: ears
    base_url: http://127.0.0.1:${hearing.port}/v1
    models:
      - { id: hear, audio_usd_per_hour: 0.36 }
`,
  })
  onTestFinished(() => scene.close())
  const server = await scene.start()
  const upload = (mib: number) => transcribe(scene.port, scene.token, mib)
  expect(await upload(8)).toBe(200) // what is loaded with the first call is there
  resetPeakMemory(server.pid)
  const before = peakMemoryMb(server.pid)
  expect(await Promise.all([upload(UPLOAD_MIB), upload(UPLOAD_MIB)])).toEqual([200, 200])
  const grown = peakMemoryMb(server.pid) - before
  expect(hearing.heard()).toBeGreaterThan(2 * UPLOAD_MIB * MIB)
  process.stdout.write(`two uploads of ${UPLOAD_MIB} MiB: ${before} MiB before, ${grown} MiB more at the highest\n`)
  expect(grown).toBeLessThan(GROWTH_MAX_MIB)
})
