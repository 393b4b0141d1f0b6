// Whether the address of the settings is free, before anything is founded or started.
import { type AddressInfo, createServer } from 'node:net'
import type { Config } from './config.ts'

/** Rejects where it is not. The port is a free one where the settings leave it open. */
export function portToListenOn({ host, port }: Config): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject)
    probe.listen({ host, port, exclusive: true }, () => {
      const bound = probe.address() as AddressInfo
      probe.close(() => resolve(bound.port))
    })
  })
}
