// What a release says of itself: `node scripts/release-notes.mjs [--version] vX.Y.Z` prints the section of CHANGELOG.md, or
// the version alone. The tag, package.json, the chart and the changelog must name the same one.
import { readFileSync } from 'node:fs'

const args = process.argv.slice(2)
const tag = args.find((one) => !one.startsWith('--')) ?? ''
const read = (path) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

/** @param {string} text @param {string} version */
function sectionOf(text, version) {
  const from = text.split('\n').findIndex((line) => line === `## ${version}` || line.startsWith(`## ${version} `))
  if (from < 0) return undefined
  const lines = text.split('\n').slice(from + 1)
  const to = lines.findIndex((line) => line.startsWith('## '))
  return lines
    .slice(0, to < 0 ? undefined : to)
    .join('\n')
    .trim()
}

const version = tag.replace(/^v/, '')
const chart = read('deploy/helm/switchyard/Chart.yaml') // read by hand: before `npm ci` there is no reader of YAML
const ofChart = (field) => new RegExp(`^${field}: "?([^"\\s]+)`, 'm').exec(chart)?.[1]
const notes = sectionOf(read('CHANGELOG.md'), version)
const named = {
  'package.json': JSON.parse(read('package.json')).version,
  'the chart': ofChart('version'),
  'the application of the chart': ofChart('appVersion'),
}
const wrong = Object.entries(named).filter(([, one]) => one !== version)
for (const [what, one] of wrong) process.stderr.write(`${what} is ${one}, the tag is ${tag}\n`)
if (!notes) process.stderr.write(`CHANGELOG.md has no section '## ${version}'\n`)
if (wrong.length > 0 || !notes) process.exit(1)
process.stdout.write(`${args.includes('--version') ? version : notes}\n`)
