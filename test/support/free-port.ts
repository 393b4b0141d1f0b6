// A port of the loopback address on which nobody listens, and which the system gives to nobody by itself: connections and
// servers of suites beside this one come and go by the thousand, and one that the system named is soon another's.
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

const [FIRST, END] = [10_000, 32_000] // Linux gives out what is above
const TRIES = 100

export async function freePort(): Promise<number> {
  for (let tries = 1; tries <= TRIES; tries++) {
    const port = randomInt(FIRST, END)
    if (await isFree(port)) return port
  }
  throw new Error(`none of ${TRIES} ports between ${FIRST} and ${END} was free`)
}

export const isFree = (port: number) =>
  new Promise<boolean>((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
