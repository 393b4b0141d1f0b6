// 0355: what a command does is the same in a process of its own and in one that runs many: code, output, files.
import { execFile } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compiledCommand, type Workplace } from '../test/support/command.ts'

const { workplace } = compiledCommand()
let place: Workplace
beforeAll(() => {
  place = workplace({ SWITCHYARD_KEY: `svc_live_${'k'.repeat(40)}`, SWITCHYARD_URL: 'http://127.0.0.1:1' })
})
afterAll(() => place.leave())

test.each([
  ['--help', 0],
  ['key create', 2],
  ['frobnicate', 2],
  ['key list', 3],
  ['plan nowhere.json', 2],
  ['config check', 0],
  ['prices show', 0],
  ['restore package.json', 2],
])('0355 `%s` ends with %i, and says the same either way', async (line, code) => {
  const alone = await place.runAlone(line.split(' '))
  expect(alone.code).toBe(code)
  expect(await place.run(line.split(' '))).toEqual(alone)
})

test('0355 standard input, settings, folder and file modes are those of the run', async () => {
  const line = ['project', 'create', '--name', 'one', '--owner-email', 'ada@example.com', '--json']
  const made = [
    await place.runAlone(line, { SWITCHYARD_DATA_DIR: 'alone' }),
    await place.run(line, { SWITCHYARD_DATA_DIR: 'hosted' }),
  ]
  for (const { code, stdout, stderr } of made)
    expect([code, JSON.parse(stdout).project.name, stderr]).toEqual([0, 'one', ''])
  for (const folder of ['alone', 'hosted'])
    expect((statSync(join(place.folder, folder, 'switchyard.db')).mode & 0o777).toString(8)).toBe('600')
  const fromInput = ['credential', 'add', '--provider', 'openai', '--name', 'x']
  for (const input of ['', '{no']) {
    const alone = await place.runAlone(fromInput, {}, input)
    expect(alone.code).toBe(2)
    expect(await place.run(fromInput, {}, input)).toEqual(alone)
  }
})

test('§2 a reader that has seen enough is no failure', async () => {
  writeFileSync(join(place.folder, 'errors'), '')
  const program = resolve('dist/cli/main.js')
  const { stdout } = await promisify(execFile)(
    'sh',
    ['-c', `node ${program} prices show 2>errors | head -1; cat errors`],
    { cwd: place.folder },
  )
  expect(stdout.split('\n')).toHaveLength(2)
  expect(readFileSync(join(place.folder, 'errors'), 'utf8')).toBe('')
})
