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

const MEMBER_BYTES = 4 * 1024 * 1024
const MEMBERS = 64

const gzipBomb: Attack = {
  does: 'Sends bodies of 260 KB that unpack to 256 MB.',
  guard: 'R77: a body is unpacked no further than its bound',
  async run(arms) {
    const member = gzipSync(Buffer.alloc(MEMBER_BYTES, 0x20), { level: 9 }) // one after the other they are one body
    const body = Buffer.concat(Array.from({ length: MEMBERS }, () => member))
    const headers = { 'content-encoding': 'gzip' }
    await paced(arms, 4, () => arms.ask({ method: 'POST', path: CHAT, headers, body }), 4)
  },
}

const SLOW_CONNECTIONS = 300

/** How long each may last at a byte a second, with a second for the look and some for a busy machine. */
const SLOW_MAX_MS = { head: 13_000, body: 20_000 }

const slowloris: Attack = {
  does: 'Opens hundreds of connections and sends heads and bodies at a byte a second.',
  guard: 'R2: a head has ten seconds, a body fifteen and then a least pace',
  async run(arms) {
    let open: SlowConnection[] = []
    let outlived = 0
    while (!arms.isOver()) {
      open = open.filter(({ socket }) => !socket.destroyed)
      while (open.length < SLOW_CONNECTIONS) open.push(openSlowly(arms, open.length))
      for (const one of open) {
        one.socket.write('a')
        if (!one.is_late && performance.now() - one.opened_ms > SLOW_MAX_MS[one.part]) {
          one.is_late = true
          outlived++
        }
      }
      await sleep(1_000)
    }
    for (const { socket } of open) socket.destroy()
    if (outlived > 0) arms.gain(`${outlived} connections for as long as it likes`)
  },
}

interface SlowConnection {
  socket: Socket
  part: keyof typeof SLOW_MAX_MS
  opened_ms: number
  is_late: boolean
}

function openSlowly({ ports, key }: Arms, n: number): SlowConnection {
  const part = n % 2 === 0 ? 'head' : 'body'
  const port = ports[n % ports.length] as number
  const socket = connect({ port, host: '127.0.0.1', localAddress: ATTACKER_ADDRESS })
  socket.on('error', () => {}).resume()
  const authorized = `host: a\r\nauthorization: Bearer ${key}\r\n`
  const json = 'content-type: application/json\r\ncontent-length: 1000000\r\n\r\n{'
  socket.write(
    part === 'head'
      ? `GET /v1/models HTTP/1.1\r\n${authorized}x-slow: `
      : `POST ${CHAT} HTTP/1.1\r\n${authorized}${json}`,
  )
  return { socket, part, opened_ms: performance.now(), is_late: false }
}

const LONG_HEADER_BYTES = 4_000_000

const headerFlood: Attack = {
  does: 'Sends requests with hundreds of headers, and some with one of four megabytes.',
  guard: 'R2: a head has at most 16 KB, else 431',
  async run(arms) {
    const many = Object.fromEntries(Array.from({ length: 350 }, (_, n) => [`x-header-${n}`, 'a'.repeat(20)]))
    const long = { 'x-header': 'a'.repeat(LONG_HEADER_BYTES) }
    await Promise.all([
      paced(arms, 40, () => arms.ask({ path: '/v1/models', headers: many })),
      paced(arms, 8, () => arms.ask({ path: '/v1/models', headers: long, give_up_ms: 5_000 })),
    ])
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
