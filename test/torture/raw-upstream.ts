// An upstream on a bare socket: it reads requests as HTTP, and answers with whatever bytes it is told to.
import { type AddressInfo, createServer, type Socket } from 'node:net'

export interface RawAnswer {
  pieces: readonly Buffer[]
  /** After them. Else the connection waits for the next request. */
  closes: boolean
}

export async function startRawUpstream(answerTo: (path: string) => RawAnswer) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    let held = Buffer.alloc(0)
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    socket.setNoDelay()
    socket.on('data', (bytes) => {
      held = Buffer.concat([held, bytes])
      const head_end = held.indexOf('\r\n\r\n')
      if (head_end === -1) return
      const head = held.toString('latin1', 0, head_end)
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
      if (held.length < head_end + 4 + length) return
      held = held.subarray(head_end + 4 + length)
      void answer(socket, answerTo(head.split(' ')[1] ?? ''))
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  return {
    base_url: `http://127.0.0.1:${port}/v1`,
    async close(): Promise<void> {
      for (const socket of sockets) socket.destroy()
      await new Promise((closed) => server.close(closed))
    },
  }
}

async function answer(socket: Socket, { pieces, closes }: RawAnswer): Promise<void> {
  for (const piece of pieces) {
    if (!socket.writable) return
    if (!socket.write(piece)) await new Promise((drained) => socket.once('drain', drained).once('close', drained))
    await new Promise((turn) => setImmediate(turn)) // so that pieces come apart
  }
  if (closes) socket.end()
}
