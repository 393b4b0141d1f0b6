// `npm run terraform`: builds the Terraform provider of terraform/ into dist/terraform, a mirror as Terraform knows it
// (host/namespace/type/version/platform), for this machine or for the platforms that are named: `linux_arm64`. Needs Go.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const MIRROR = join(ROOT, 'dist/terraform')
const ADDRESS = 'terraform.local/switchyard/switchyard'

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const here = execFileSync('go', ['env', 'GOOS', 'GOARCH'], { encoding: 'utf8' }).trim().replace('\n', '_')
const platforms = process.argv.length > 2 ? process.argv.slice(2) : [here]

// What is current is left: Go then sees that there is nothing to link.
const kept = join(MIRROR, ADDRESS)
for (const other of existsSync(kept) ? readdirSync(kept) : [])
  if (other !== version) rmSync(join(kept, other), { recursive: true })
for (const platform of platforms) {
  const [GOOS, GOARCH] = platform.split('_')
  const folder = join(MIRROR, ADDRESS, version, platform)
  mkdirSync(folder, { recursive: true })
  const program = join(folder, `terraform-provider-switchyard_v${version}${GOOS === 'windows' ? '.exe' : ''}`)
  execFileSync('go', ['build', '-trimpath', '-ldflags=-s -w', '-o', program, '.'], {
    cwd: join(ROOT, 'terraform'),
    env: { ...process.env, GOOS, GOARCH, CGO_ENABLED: '0' },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  process.stdout.write(`${program}\n`)
}
writeFileSync(join(MIRROR, 'THIRD-PARTY.txt'), notices())

/** The licences of what is linked into it, Go's own library first. */
function notices() {
  const go = (...args) => execFileSync('go', args, { cwd: join(ROOT, 'terraform'), encoding: 'utf8' }).trim()
  const format = '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}'
  const modules = [...new Set(go('list', '-deps', '-f', format, '.').split('\n'))].filter((line) => line !== '').sort()
  const texts = [`Go\t${go('env', 'GOROOT')}`, ...modules].map((line) => {
    const [name = '', folder = ''] = line.split('\t')
    const file = readdirSync(folder).find((one) => /^(licen[cs]e|copying)(\.\w+)?$/i.test(one))
    if (!file) throw new Error(`${name} has no licence`)
    return `${name}\nIts source is the Go module of this name.\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`
  })
  return texts.join(`\n${'-'.repeat(80)}\n\n`)
}
