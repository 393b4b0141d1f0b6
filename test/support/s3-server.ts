// A real server of the S3 protocol (s3rver), on a folder of its own, for as long as a suite runs.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import type { Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

type S3rver = new (options: object) => { run(): Promise<AddressInfo>; close(): Promise<void>; httpServer: Server }

export async function startS3() {
  const Rver = createRequire(import.meta.url)('s3rver') as S3rver
  const directory = mkdtempSync(join(tmpdir(), 'switchyard-s3-'))
  const server = new Rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    resetOnClose: true,
    configureBuckets: [{ name: 'switchyard', configs: [] }],
  })
  const { port } = await server.run()
  return {
    settings: {
      endpoint: `http://127.0.0.1:${port}`,
      bucket: 'switchyard',
      region: 'us-east-1',
      prefix: 'artifacts/',
      access_key_id: 'S3RVER',
      secret_access_key: 'S3RVER',
    },
    objects: () =>
      readdirSync(directory, { recursive: true })
        .map(String)
        .filter((name) => name.includes('_object')),
    async stop() {
      await server.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
