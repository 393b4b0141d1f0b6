// The folder of an embedded store: who serves it, its secret, and whether it was left in good order.
import { randomBytes } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'

export class FolderError extends Error {
  override readonly name = 'FolderError'
}

export function openDataFolder(dir: string): void {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    accessSync(dir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new FolderError(`SWITCHYARD_DATA_DIR ${dir} cannot be used as a folder: ${(error as Error).message}.`)
  }
}

export const storeFile = (dir: string) => join(dir, 'switchyard.db')

/** Made once, readable by its owner only, and on disk before anything is sealed with it. */
export function serverSecret(dir: string): string {
  const path = join(dir, 'secret')
  if (!existsSync(path)) makeSecret(path)
  const secret = readFileSync(path, 'utf8').trim()
  if (secret.length < 32) throw new FolderError(`${path} must hold at least 32 characters; it holds ${secret.length}.`)
  return secret
}

/** Written beside, then linked: whoever finds a secret finds all of it, and of two made at once the first one stays. */
function makeSecret(path: string): void {
  const beside = `${path}.${randomBytes(6).toString('hex')}`
  try {
    writeFileSync(beside, randomBytes(32).toString('base64url'), { mode: 0o600, flag: 'wx' })
    flushToDisk(beside)
    linkSync(beside, path)
    flushToDisk(dirname(path))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(beside, { force: true })
  }
}

/** A file's contents, or a folder's names, outlive a power cut after this. */
export function flushToDisk(path: string): void {
  const opened = openSync(path, 'r')
  try {
    fsyncSync(opened)
  } finally {
    closeSync(opened)
  }
}

/** One server a folder. The operating system drops the lock with the process, however it ends. */
export function lockFolder(dir: string): { unlock(): void } {
  const lock = new DatabaseSync(join(dir, 'server.lock'), { timeout: 0 })
  try {
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    throw new FolderError(`Another switchyard server is using ${dir}. Stop it, or set SWITCHYARD_DATA_DIR.`, {
      cause: error,
    })
  }
  return { unlock: () => lock.close() }
}

/** While a server runs its mark is there; a mark found at the start tells of a stop that was not clean. */
export function runningMark(dir: string) {
  const path = join(dir, 'running')
  return {
    wasLeft: () => existsSync(path),
    set: () => closeSync(openSync(path, 'w')),
    clear: () => rmSync(path, { force: true }),
  }
}

/** Every page and index of the file, read and checked against each other. */
export function checkIntegrity(file: string): void {
  const connection = new DatabaseSync(file, { readOnly: true })
  try {
    const findings = connection.prepare('PRAGMA integrity_check(5)').all() as { integrity_check: string }[]
    const wrong = findings.map((row) => row.integrity_check).filter((text) => text !== 'ok')
    if (wrong.length > 0) throw new FolderError(`${file} is damaged: ${wrong.join('; ')}. Restore a backup.`)
  } finally {
    connection.close()
  }
}
