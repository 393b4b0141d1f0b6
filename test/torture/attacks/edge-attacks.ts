// Attacks before anything is generated: bodies, heads and connections.
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { createKey } from '../../../src/keys/key.ts'
import { type Arms, ATTACKER_ADDRESS, type Attack, CHAT, paced } from './attack.ts'

const KEYS = 1_000_000

const millionKeys: Attack = {
  does: 'Sends messages with a million keys, 12 MB of them, which cost seconds to parse and walk.',
  guard: 'R77: a body has at most 250,000 objects, arrays and members',
  async run(arms) {
    const keys = Array.from({ length: KEYS }, (_, n) => `"k${n}":0`).join(',')
    const body = Buffer.from(
      `{"model":"m","user":"${arms.attack}","messages":[{"role":"user","content":"Go on.",${keys}}]}`,
    )
    await paced(arms, 1, () => arms.ask({ method: 'POST', path: CHAT, body }), 2)
  },
}

const BOMB_BYTES = 256 * 1024 * 1024

const gzipBomb: Attack = {
  does: 'Sends bodies of 260 KB that unpack to 256 MB.',
  guard: 'R77: a body is unpacked no further than its bound',
  async run(arms) {
    const body = gzipSync(Buffer.alloc(BOMB_BYTES, 0x20), { level: 9 })
    const headers = { 'content-encoding': 'gzip' }
    await paced(arms, 4, () => arms.ask({ method: 'POST', path: CHAT, headers, body }), 4)
  },
}

const SLOW_CONNECTIONS = 300

const slowloris: Attack = {
  does: 'Opens hundreds of connections and sends heads and bodies at a byte a second.',
  guard: 'R2: a head has ten seconds, a body as long as its size allows',
  async run(arms) {
    const heads = [
      'POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n{',
      'GET /v1/models HTTP/1.1\r\nhost: a\r\nx-slow: ',
    ]
    let sockets: Socket[] = []
    while (!arms.isOver()) {
      sockets = sockets.filter(({ destroyed }) => !destroyed)
      while (sockets.length < SLOW_CONNECTIONS) {
        const socket = open(arms, sockets.length)
        socket.write(heads[sockets.length % heads.length] as string)
        sockets.push(socket)
      }
      for (const socket of sockets) socket.write('a')
      await sleep(1_000)
    }
    for (const socket of sockets) socket.destroy()
  },
}

function open({ ports }: Arms, n: number): Socket {
  const port = ports[n % ports.length] as number
  const socket = connect({ port, host: '127.0.0.1', localAddress: ATTACKER_ADDRESS })
  return socket.on('error', () => {}).resume()
}

const headerFlood: Attack = {
  does: 'Sends requests with hundreds of headers, up to the bound of a head and far above it.',
  guard: 'R2: a head has at most 16 KB, else 431',
  async run(arms) {
    const flood = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`x-header-${n}`, 'a'.repeat(20)]))
    const [within, beyond] = [flood(350), flood(2_000)]
    await paced(arms, 60, (n) => arms.ask({ path: '/v1/models', headers: n % 2 === 0 ? within : beyond }))
  },
}

const badKeys: Attack = {
  does: 'Opens a connection for each of its requests, with keys that look like good ones and are not.',
  guard: 'R5: a mistyped key costs no look-up, others one; the address is counted first',
  async run(arms) {
    await paced(
      arms,
      150,
      (n) => {
        const { raw } = createKey('prj_nobody', { name: 'guess', scopes: ['admin'] }, 0)
        const key = n % 2 === 0 ? raw : `${raw.slice(0, -1)}_`
        return arms.ask({ path: '/v2/api-keys', key, headers: { connection: 'close' } })
      },
      64,
    )
  },
}

export const EDGE_ATTACKS = {
  'million-keys': millionKeys,
  'gzip-bomb': gzipBomb,
  slowloris,
  'header-flood': headerFlood,
  'bad-keys': badKeys,
}
