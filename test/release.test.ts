// 0354: the release workflow. Whoever can move a tag of somebody else's action must not reach our releases, and no job may
// do more than it needs. Linted by the real actionlint where there is one.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

const FILE = '.github/workflows/release.yml'
const text = readFileSync(FILE, 'utf8')

interface Job {
  needs?: string | string[]
  permissions?: Record<string, string>
  'timeout-minutes'?: number
  steps: { uses?: string; run?: string; with?: Record<string, unknown> }[]
}
const { on, permissions, jobs } = parse(text) as {
  on: { push: { tags: string[] } }
  permissions: object
  jobs: Record<string, Job>
}

// To have it: go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
const ACTIONLINT = ['actionlint', join(homedir(), 'go/bin/actionlint')].find(
  (path) => spawnSync(path, ['-version']).status === 0,
)

test('0354 every action is named by a commit, with its version beside it', () => {
  const used = text.split('\n').filter((line) => /\buses:/.test(line))
  expect(used.length).toBeGreaterThan(5)
  expect(used.filter((line) => !/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([])
})

test('0354 a job has the permissions that it names, and none besides; nothing runs without the tests', () => {
  expect(permissions).toEqual({})
  const writing = Object.fromEntries(
    Object.entries(jobs).map(([name, job]) => [
      name,
      Object.entries(job.permissions ?? { all: 'write' }).flatMap(([what, how]) => (how === 'write' ? [what] : [])),
    ]),
  )
  expect(writing).toEqual({
    check: [],
    npm: ['id-token'],
    image: ['packages', 'id-token', 'attestations'],
    chart: ['packages', 'id-token'],
    announce: ['contents', 'id-token', 'attestations'],
  })
  for (const [name, job] of Object.entries(jobs)) {
    if (name !== 'check') expect([job.needs].flat(), name).toContain('check')
    expect(job['timeout-minutes'], name).toBeGreaterThan(0)
  }
  expect(jobs.check?.steps.some(({ run }) => run === 'bash .ci/run')).toBe(true)
  expect(on).toEqual({ push: { tags: ['v[0-9]+.[0-9]+.[0-9]+', 'v[0-9]+.[0-9]+.[0-9]+-*'] } })
})

test('0354 nothing from outside is put into a script, and no checkout leaves a token behind', () => {
  const steps = Object.values(jobs).flatMap((job) => job.steps)
  expect(steps.flatMap(({ run }) => (run?.includes('${{') ? [run] : []))).toEqual([])
  const checkouts = steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'))
  expect(checkouts.map((step) => step.with?.['persist-credentials'])).toEqual(checkouts.map(() => false))
  expect(text).not.toContain('secrets.')
})

test('0354 a tag that is not the version of the package, or has no section in the changelog, releases nothing', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  const { status, stderr } = spawnSync(process.execPath, ['scripts/release-notes.mjs', 'v99.0.0'], { encoding: 'utf8' })
  expect(status).toBe(1)
  expect(stderr).toContain(`package.json is ${version}, the tag is v99.0.0`)
  expect(stderr).toContain("CHANGELOG.md has no section '## 99.0.0'")
})

test.skipIf(!ACTIONLINT)('0354 actionlint finds nothing wrong (skipped where there is none)', () => {
  const { status, stdout } = spawnSync(ACTIONLINT as string, ['-no-color', FILE], { encoding: 'utf8' })
  expect(stdout).toBe('')
  expect(status).toBe(0)
})
