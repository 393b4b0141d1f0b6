// The balancer as a program: told the ports of the servers, and asked to say when so many of them are ready.
import { startBalancer } from '../support/balancer.ts'
import { readyHere, toldHere } from './told-here.ts'

const balancer = await startBalancer(toldHere<number[]>())
process.on('message', async (count: number) => {
  await balancer.untilReady(count)
  process.send?.({ ready: count })
})
readyHere({ port: balancer.port })
