// The `switchyard` command against a running server, as somebody would type it.
import { afterAll, beforeAll, expect } from 'vitest'
import { compiledCommand, type Workplace } from './command.ts'

export const KEY = `svc_live_${'k'.repeat(40)}`

/** One server for a suite. */
export function commandsOfService(env: Record<string, string> = {}) {
  const { workplace } = compiledCommand()
  let place: Workplace
  let url: string
  beforeAll(async () => {
    place = workplace()
    url = (await place.serve({ ...env, SWITCHYARD_BOOTSTRAP_KEY: KEY })).url
  })
  afterAll(() => place.leave())

  const as = (key: string, line: string, input?: string) =>
    place.run(line.split(' '), { SWITCHYARD_URL: url, SWITCHYARD_KEY: key }, input)
  const run = (line: string, input?: string) => as(KEY, line, input)

  async function json(line: string) {
    const { code, stdout, stderr } = await run(`${line} --json`)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return JSON.parse(stdout)
  }

  const ask = async (path: string, key = KEY) =>
    (await fetch(url + path, { headers: { authorization: `Bearer ${key}` } })).text()

  return { as, run, json, ask, place: () => place, url: () => url }
}

export const done = (stdout: unknown) => ({ code: 0, stderr: '', stdout })
export const failed = (code: number, stderr: RegExp) => ({ code, stdout: '', stderr: expect.stringMatching(stderr) })
