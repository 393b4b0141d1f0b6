// 0361: the description that the Terraform provider is made of, and its documents. Running it is test/slow/terraform.test.ts.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { RESOURCES_FILE, resourcesText } from '../scripts/write-terraform.ts'

interface Attribute {
  type: string
  fields?: Record<string, Attribute>
  [about: string]: unknown
}
interface Resource {
  import: string[]
  attributes: Record<string, Attribute>
}
const text = readFileSync(RESOURCES_FILE, 'utf8')
const { resources } = JSON.parse(text) as { resources: Record<string, Resource> }
const names = Object.keys(resources)

test('0361 terraform/provider/resources.json is current: npm run openapi', () => {
  expect(text).toBe(resourcesText())
})

test('0361 docs/TERRAFORM.md lists every resource, and what it is imported by', () => {
  const rows = [...readFileSync('docs/TERRAFORM.md', 'utf8').matchAll(/^\| `switchyard_(\w+)` \| `([^`]+)` \|/gm)]
  const listed = Object.fromEntries(rows.map(([, name, by]) => [name, by]))
  expect(listed).toEqual(Object.fromEntries(names.map((name) => [name, resources[name]?.import.join('/')])))
})

const inside = (attributes: Record<string, Attribute>, at: string): [string, Attribute][] =>
  Object.entries(attributes).flatMap(([name, one]) => [
    [`${at}.${name}`, one],
    ...inside(one.fields ?? {}, `${at}.${name}`),
  ])
const all = names.flatMap((name) => inside(resources[name]?.attributes ?? {}, name))

test('0361 what sounds like a secret is write-only, or sensitive where the server made it', () => {
  const sounding = all.filter(
    ([path, { type }]) => type === 'string' && /secret|(^|[._])(api|admin|private)_key$|_token$|\.key$/.test(path),
  )
  expect(sounding.map(([path]) => path)).toContain('provider.client_secret')
  expect(sounding.filter(([, { secret, sensitive }]) => !secret && !sensitive).map(([path]) => path)).toEqual([])
})

test('0361 no attribute has a name that Terraform keeps for itself', () => {
  const kept = ['connection', 'count', 'depends_on', 'for_each', 'lifecycle', 'provider', 'provisioner']
  expect(
    names.flatMap((name) => Object.keys(resources[name]?.attributes ?? {}).filter((one) => kept.includes(one))),
  ).toEqual([])
})

test.skipIf(spawnSync('gofmt', ['-h']).error !== undefined)(
  '0361 gofmt has nothing to change (skipped where there is no Go)',
  () => {
    const { stdout, status } = spawnSync('gofmt', ['-l', 'terraform'], { encoding: 'utf8' })
    expect([status, stdout]).toEqual([0, ''])
  },
)
