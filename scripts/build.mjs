// `npm run build`: the server and the console into dist/, each only where something of it changed. The compilers are
// programs of their own, so that a build with nothing to do takes hundredths of a second. Types are `npm run check`'s.
import { spawn } from 'node:child_process'
import { chmodSync, cpSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, filesIn } from './build-parts.mjs'
import { bundle } from './bundle.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const TOOLS = [
  'package-lock.json',
  'tsconfig.json',
  ...['build', 'build-parts', 'bundle'].map((name) => `scripts/${name}.mjs`),
]
const isTest = (path) => /\.test\.tsx?$/.test(path)
/** What is read while the server runs: migrations, a thread's script, what belongs to the reference page. */
const isAsset = (path) => /\.(sql|css|mjs|js)$/.test(path)

const server = {
  name: 'server',
  inputs: ['src', 'cli', ...TOOLS],
  counts: (path) => !isTest(path),
  outputs: ['src', 'cli'],
  async make(folder) {
    bundle(join(ROOT, 'cli/main.ts'), join(folder, 'cli'))
    for (const path of filesIn(ROOT, 'src').filter(isAsset)) cpSync(join(ROOT, path), join(folder, path))
    chmodSync(join(folder, 'cli/main.js'), 0o755)
  },
}

/** Of the service it knows types alone, which vanish: the tidy rules see to that. */
const pages = {
  name: 'console',
  inputs: ['console', ...TOOLS],
  counts: (path) => !isTest(path),
  outputs: ['console'],
  make: (folder) =>
    run('vite/bin/vite.js', 'build', '--logLevel', 'warn', '--outDir', join(folder, 'console'), 'console'),
}

function run(tool, ...args) {
  return new Promise((resolve, reject) => {
    const program = join(ROOT, 'node_modules', tool)
    const env = { ...process.env, NODE_ENV: 'production' } // whoever builds: a test's would bring React's own checks along
    const child = spawn(process.execPath, [program, ...args], { cwd: ROOT, stdio: ['ignore', 2, 2], env })
    child.once('error', reject)
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`${tool} ended with ${code}`))))
  })
}

try {
  await build([server, pages], { root: ROOT, say: (text) => process.stderr.write(`${text}\n`) })
} catch (error) {
  process.stderr.write(`build: ${error.message}\n`)
  process.exit(1)
}
