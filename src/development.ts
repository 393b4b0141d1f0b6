// `serve --dev`: the same server, on a data folder of its own, with one admin key that every start shows again.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { randomBase62 } from './core/ids.ts'
import { KEY_PREFIX } from './keys/key.ts'
import { startServer } from './main.ts'
import { type Config, SettingError } from './start/config.ts'
import { accessLines, indented, type Notice, tryIt } from './start/welcome.ts'
import { FolderError, openDataFolder, storeFile } from './storage/data-folder.ts'

/** Serves until SIGTERM or SIGINT. Resolves with the exit code. */
export async function serveForDevelopment(config: Config): Promise<number> {
  const signalled = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve())
  })
  const development = developmentConfig(config)
  const { stop } = await startServer(development.config, { notice: noticeOf(development) })
  await signalled
  await stop(0) // nobody balances load onto a developer's machine
  return 0
}

interface Development {
  config: Config
  key: string
}

function developmentConfig(config: Config): Development {
  if (config.database_url)
    throw new SettingError('DATABASE_URL must be unset with --dev, which keeps to an embedded store of its own.')
  if (config.workers > 1)
    throw new SettingError('SWITCHYARD_WORKERS must be 1 with --dev, which keeps to an embedded store of its own.')
  const data_dir = join(config.data_dir, 'dev')
  openDataFolder(data_dir)
  const key = developmentKey(data_dir, config.bootstrap_key)
  return { config: { ...config, data_dir, bootstrap_key: key }, key }
}

/** Kept readable, which no other key is: it opens nothing but this folder, and a reload must not lock its owner out. */
function developmentKey(dir: string, chosen: string | undefined): string {
  const path = join(dir, 'admin-key')
  if (!existsSync(path)) {
    if (existsSync(storeFile(dir)))
      throw new FolderError(
        `${path} is gone, and the store beside it knows only its hash. Remove ${dir} to begin anew.`,
      )
    writeFileSync(path, chosen ?? KEY_PREFIX + randomBase62(42), { mode: 0o600, flag: 'wx' })
  }
  return readFileSync(path, 'utf8').trim()
}

/** The key is shown at every start, and so is a link while one is due: both open nothing but this folder. */
const noticeOf = ({ config, key }: Development): Notice => ({
  shows_secrets: true,
  textOf: (start) =>
    indented([
      `Switchyard for development at ${start.address}, data in ${config.data_dir}`,
      '',
      `  export SWITCHYARD_URL=${start.address}`,
      `  export SWITCHYARD_KEY=${key}`,
      '',
      ...(start.access.kind === 'link' ? accessLines(start) : []),
      `Console:   ${start.public_url}/console`,
      `Reference: ${start.public_url}/docs`,
      '',
      ...tryIt(start.address, key, start.gateway),
    ]),
})
