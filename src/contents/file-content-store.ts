// Contents as files of one folder, named by their random ids: for the embedded store, beside its database. A file is
// written under another name, flushed and renamed, so under its own name it is whole.
import { createReadStream } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Contents } from './content.ts'
import { PART_BYTES } from './content.ts'

const PRIVATE = 0o600
const PRIVATE_FOLDER = 0o700

export function fileContents(folder: string): Contents {
  const made = mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER })
  made.catch(() => {}) // whoever writes first is told
  const fileOf = (content_id: string) => join(folder, content_id)
  const partialOf = (content_id: string) => join(folder, `${content_id}.part`)

  /** A name is on the disk once its folder is. */
  async function flushFolder(): Promise<void> {
    const opened = await open(folder, 'r')
    try {
      await opened.sync()
    } finally {
      await opened.close()
    }
  }

  return {
    async write(content_id, content) {
      await made
      const file = await open(partialOf(content_id), 'wx', PRIVATE)
      try {
        for (const part of content.parts()) await file.write(part)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(partialOf(content_id), fileOf(content_id))
      await flushFolder()
    },

    read: (content_id) => createReadStream(fileOf(content_id), { highWaterMark: PART_BYTES }),

    async erase(content_id) {
      await rm(partialOf(content_id), { force: true })
      await rm(fileOf(content_id), { force: true })
      await made
      await flushFolder()
    },
  }
}
