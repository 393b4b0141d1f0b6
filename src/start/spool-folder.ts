// R77: large forms and answers of images and sound go through a folder of the system's. A server that has none looks
// well, and refuses them.
import { tmpdir } from 'node:os'
import type { FastifyBaseLogger } from 'fastify'
import { assertSpoolable } from '../core/spool.ts'

/** It starts all the same: the folder may come, and other calls need none. */
export async function tellUnspoolable(logger: FastifyBaseLogger): Promise<void> {
  await assertSpoolable().catch((err) =>
    logger.warn({ err }, `no file can be made in ${tmpdir()} (TMPDIR): large images and sound will get a 503`),
  )
}
