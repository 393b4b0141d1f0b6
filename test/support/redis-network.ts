// A network that fails between a replica and its Redis.
import { connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A network between a replica and Redis. It can cut every connection, or lose whatever follows a command on one. */
export async function networkTo(url: string) {
  const open = new Set<Socket>()
  let swallowed_from: string | undefined
  const proxy = createServer((near) => {
    const far = connect(Number(new URL(url).port), '127.0.0.1')
    let is_lost = false
    near.on('data', (bytes) => {
      if (swallowed_from !== undefined && bytes.includes(swallowed_from)) {
        is_lost = true
        swallowed_from = undefined
      }
      if (!is_lost) far.write(bytes)
    })
    far.on('data', (bytes) => void (is_lost || near.write(bytes)))
    const hangUp = () => [near, far].forEach((end) => void end.destroy())
    for (const end of [near, far]) end.on('error', hangUp).on('close', hangUp)
    open.add(near.once('close', () => open.delete(near)))
  })
  await new Promise<void>((listening) => proxy.listen(0, '127.0.0.1', listening))
  const cut = () => open.forEach((near) => void near.destroy())
  onTestFinished(() => {
    cut()
    proxy.close()
  })
  const { port } = proxy.address() as { port: number }
  return {
    url: `redis://127.0.0.1:${port}`,
    cut,
    /** One connection, the first that says this, hears nothing any more from there on. */
    swallowFrom: (command: string) => {
      swallowed_from = command
    },
    hasSwallowed: () => swallowed_from === undefined,
  }
}
