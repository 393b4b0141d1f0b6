// Damaged HTTP over real sockets, all at once: whatever arrives, the answer is HTTP, and a refusal is in the envelope.
import { conformanceWith } from './conformance.ts'
import { type Dice, diceFrom } from './fuzz-values.ts'
import type { TestService } from './service.ts'

const DAMAGES = 3

export async function fuzzSockets(
  service: TestService,
  seed: number,
  count: number,
): Promise<{ answered: number; problems: string[] }> {
  const dice = diceFrom(seed)
  const { key } = await service.newProject()
  const { raw } = await service.listen()
  const conforms = conformanceWith({ paths: {} })
  const { server } = service.app
  // What never ends is ended with 408, and nobody waits for another request.
  Object.assign(server, { headersTimeout: 200, requestTimeout: 300, keepAliveTimeout: 50 })
  const requests = Array.from({ length: count }, () => damaged(wholeRequest(key, dice), dice))
  const answers = await Promise.all(requests.map(raw))
  const heard = answers.flatMap((answer, at) => (Number.isNaN(answer.status) ? [] : [{ ...answer, at }]))
  const problems = heard.flatMap((answer) => {
    const found = answer.status >= 500 ? [`${answer.status}`] : conforms('GET', '/', answer)
    return found.map((one) => `${one} for ${JSON.stringify(requests[answer.at]?.toString('latin1'))}`)
  })
  return { answered: heard.length, problems }
}

function wholeRequest(key: string, dice: Dice): Buffer {
  const body = JSON.stringify({ name: 'ci', region: 'eu' })
  const [method, path] = dice.pick([
    ['POST', '/v2/byoc/clusters'],
    ['GET', '/v2/api-keys'],
    ['DELETE', '/v2/byoc/clusters/byc_x'],
    ['POST', '/v2/api-keys'],
  ] as const)
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: x',
    'Connection: close',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    'Agent-Idempotency-Key: a',
    dice.chance(0.5) ? `Content-Length: ${body.length}` : 'Transfer-Encoding: chunked',
  ]
  const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${lines.at(-1)?.endsWith('chunked') ? chunked : body}`)
}

function damaged(request: Buffer, dice: Dice): Buffer {
  let bytes = request
  for (let n = dice.between(1, DAMAGES); n > 0; n--) {
    const [at, more] = [dice.below(bytes.length), dice.between(1, 12)]
    const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)]
    const piece = dice.pick([
      Buffer.alloc(0),
      Buffer.from([dice.below(256)]),
      Buffer.from(
        dice.pick([
          '\r\n',
          '\r',
          '\n\n',
          '\0',
          ': ',
          ' HTTP/1.1',
          'Transfer-Encoding: chunked\r\n',
          'Content-Length: 0\r\n',
        ]),
      ),
      after.subarray(0, more),
    ])
    bytes = Buffer.concat([before, piece, after.subarray(dice.chance(0.5) ? more : 0)])
  }
  return bytes
}
