// Which version this is, as its package says.
import { existsSync, readFileSync } from 'node:fs'
import { ownFile } from '../core/own-files.ts'

export function version(): string {
  // Beside the sources in a checkout, one level further up in a build.
  const places = ['../package.json', '../../package.json'].map(ownFile)
  const file = places.find((url) => existsSync(url))
  return file ? JSON.parse(readFileSync(file, 'utf8')).version : 'unknown'
}
