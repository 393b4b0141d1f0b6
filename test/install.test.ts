// What `npm ci` meets: one floor of Node that is true everywhere, and no script that has to run.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readStages } from './support/dockerfile.ts'

const read = (path: string) => readFileSync(path, 'utf8')

test('§install one floor of Node, in the package, the image and every document, that all packages take', () => {
  const { engines } = JSON.parse(read('package.json'))
  const lowest = ['20.19.0', '22.12.0', '24.0.0']
  expect(engines.node).toBe('^20.19.0 || ^22.12.0 || >=24.0.0')
  const used = new Set(readStages().map(({ base }) => base.replace(/^node:([\d.]+)-.*/, '$1')))
  expect(used.size).toBe(1)
  const { packages } = JSON.parse(read('package-lock.json'))
  const picky = Object.entries<{ engines?: { node?: string } }>(packages).filter(
    ([, { engines }]) =>
      engines?.node && ![...lowest, ...used].every((version) => takes(engines.node as string, version)),
  )
  expect(picky.map(([path, { engines }]) => `${path} wants ${engines?.node}`)).toEqual([])
  for (const document of ['README.md', 'CONTRIBUTING.md', 'docs/OPERATIONS.md'])
    expect(read(document).replaceAll('\n', ' '), document).toContain('Node 24; 22.12 and 20.19 work too')
})

/** The parts of semver that packages use for Node: alternatives of `>=`, `^`, `*`, or a bare version. */
function takes(range: string, version: string): boolean {
  const [major = 0, ...rest] = version.split('.').map(Number)
  return range.split('||').some((part) => {
    if (part.trim() === '*') return true
    const [, sign, from = ''] = /^\s*(>=|\^|)\s*([\d.x]+)\s*$/.exec(part) ?? []
    const [least = Number.POSITIVE_INFINITY, ...lesser] = from
      .split('.')
      .map((digit) => Number(digit.replace('x', '0')))
    if (major !== least) return sign === '>=' && major > least
    const difference = rest.map((digit, index) => digit - (lesser[index] ?? 0)).find((one) => one !== 0) ?? 0
    return difference >= 0
  })
}

test('§install every package with an install script is decided on: none needs to run', () => {
  const { packages } = JSON.parse(read('package-lock.json'))
  const scripted = Object.entries<{ hasInstallScript?: boolean; optional?: boolean }>(packages)
    .filter(([, { hasInstallScript, optional }]) => hasInstallScript && !optional)
    .map(([path]) => [path.replace(/.*node_modules\//, ''), false])
  expect(Object.fromEntries(scripted)).toEqual(JSON.parse(read('package.json')).allowScripts)
})
