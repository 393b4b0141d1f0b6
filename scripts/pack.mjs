// `npm run package`: what is published, as one file in dist/. The server, the console and the command line are bundled, so
// the package needs two others only, those with parts in machine code; what is inside is named by sbom.cdx.json and
// THIRD-PARTY.txt.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { APART } from './bundle.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const PLACE = join(ROOT, 'dist/.package')
const BUILT = ['cli', 'src', 'console']
const BESIDE = ['README.md', 'LICENSE', 'CHANGELOG.md', 'switchyard.example.yaml']

const read = (path) => JSON.parse(readFileSync(join(ROOT, path), 'utf8'))
const own = read('package.json')
const { packages } = read('package-lock.json')

rmSync(PLACE, { recursive: true, force: true })
mkdirSync(PLACE, { recursive: true })
for (const part of BUILT) cpSync(join(ROOT, 'dist', part), join(PLACE, 'dist', part), { recursive: true })
for (const file of BESIDE) cpSync(join(ROOT, file), join(PLACE, file))
put('package.json', JSON.stringify(manifest(), null, 2))
put('sbom.cdx.json', npm('sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev', '--package-lock-only'))
put('THIRD-PARTY.txt', notices())
const [{ filename, size, unpackedSize, files }] = JSON.parse(
  npm('pack', PLACE, '--json', '--ignore-scripts', '--pack-destination', join(ROOT, 'dist')),
)
rmSync(PLACE, { recursive: true })
const megabytes = (bytes) => (bytes / 1e6).toFixed(1)
process.stdout.write(
  `dist/${filename}: ${files.length} files, ${megabytes(size)} MB, unpacked ${megabytes(unpackedSize)} MB\n`,
)

/** What ours says of itself, with the two packages in the versions that were tested. */
function manifest() {
  const { name, version, description, license, type, engines, bin, keywords } = own
  const place = process.env.GITHUB_REPOSITORY // npm compares it with where the package was built
  const repository = place && { type: 'git', url: `git+https://github.com/${place}.git` }
  const dependencies = Object.fromEntries(
    Object.keys(own.dependencies)
      .filter((one) => APART.includes(one))
      .map((one) => [one, packages[`node_modules/${one}`].version]),
  )
  return { name, version, description, license, type, engines, bin, repository, keywords, dependencies }
}

/** The licences of all that is bundled, each text once. */
function notices() {
  const by_text = new Map()
  for (const [path, { version, dev, optional }] of Object.entries(packages)) {
    const folder = join(ROOT, path)
    if (path === '' || dev || optional || !existsSync(folder)) continue
    const file = readdirSync(folder).find((name) => /^(licen[cs]e|copying)(\.\w+)?$/i.test(name))
    const text = file
      ? readFileSync(join(folder, file), 'utf8').trim()
      : `Licence: ${read(join(path, 'package.json')).license}`
    by_text.set(text, [...(by_text.get(text) ?? []), `${path.replace(/^.*node_modules\//, '')} ${version}`])
  }
  return [...by_text].map(([text, names]) => `${names.join(', ')}\n\n${text}\n`).join(`\n${'-'.repeat(80)}\n\n`)
}

function put(name, text) {
  writeFileSync(join(PLACE, name), text)
}

function npm(...args) {
  return execFileSync('npm', args, {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 1 << 27,
  })
}
