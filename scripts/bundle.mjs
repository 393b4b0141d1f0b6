// Puts a program and what it is made of into a few files: to find and load hundreds of them takes a server longer than
// everything else that it does until it serves. What only some need (Redis, the CLI's commands) stays apart, and is
// loaded when it is needed.
import { mkdirSync, writeFileSync } from 'node:fs'
import { buildSync } from 'esbuild'

/** They have parts in machine code, which no file of ours can hold. */
export const APART = ['@photostructure/sqlite', '@node-rs/argon2', 'pg-native']

/** Packages in the older form of modules ask for others by this. */
const REQUIRE = `import { createRequire } from 'node:module';const require = createRequire(import.meta.url);`

/**
 * `folder` stands beside a folder `src` that has the program's own files in it (src/core/own-files.ts).
 * @param {string} program
 * @param {string} folder
 */
export function bundle(program, folder) {
  const { outputFiles } = buildSync({
    entryPoints: [program],
    outdir: folder,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    external: APART,
    banner: { js: REQUIRE },
    define: { IS_BUNDLED: 'true' },
    legalComments: 'none',
    logLevel: 'warning',
    write: false,
  })
  mkdirSync(folder, { recursive: true })
  for (const { path, text } of outputFiles) writeFileSync(path, inAscii(text))
}

/**
 * One letter outside of it, in a comment for one, and V8 keeps the whole file with two bytes for each letter. Where
 * esbuild leaves some, in comments and regular expressions, this means the same.
 * @param {string} text
 */
const inAscii = (text) =>
  text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
