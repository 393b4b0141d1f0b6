// A server of an earlier version, built from this repository's history: for what a new one finds in its store, and for
// both beside each other while replicas are replaced.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { globSync } from 'tinyglobby'
import { bundle } from '../../scripts/bundle.mjs'

/** The first with the schema that every later migration builds on. */
export const OLDER = '59803e181f5758fcc666c1f9c70e085e136d37a3'

/** A checkout may be shallow, or no checkout at all. */
export function hasOlder(): boolean {
  try {
    execFileSync('git', ['cat-file', '-e', `${OLDER}:package.json`], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

export function buildOlder(): { built: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-older-'))
  const archive = execFileSync('git', ['archive', OLDER, 'src', 'cli', 'package.json'], { maxBuffer: 1 << 28 })
  execFileSync('tar', ['-x', '-C', folder], { input: archive })
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  const built = join(folder, 'dist')
  mkdirSync(built)
  bundle(join(folder, 'cli/main.ts'), join(built, 'cli'))
  for (const path of globSync('src/**/*.{sql,css,mjs,js}', { cwd: folder }))
    cpSync(join(folder, path), join(built, path))
  return { built, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
