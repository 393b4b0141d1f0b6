// artifact and bundle against a running server: output for people, JSON for programs, exit codes.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { PNG } from '../test/support/forms.ts'
import { commandsOfService, done, failed } from '../test/support/running-commands.ts'

const { run, json } = commandsOfService()
const folder = mkdtempSync(join(tmpdir(), 'switchyard-artifacts-'))
afterAll(() => rmSync(folder, { recursive: true }))

function file(name: string, contents: string | Buffer): string {
  const path = join(folder, name)
  writeFileSync(path, contents)
  return path
}

test('§artifacts artifact upload, list, show and delete', async () => {
  const rules = file('rules.md', 'Be careful.')
  const made = await json(`artifact upload ${rules} --expires 3600`)
  expect(made).toMatchObject({ object: 'artifact', kind: 'text', name: 'rules.md', bytes: 11 })
  expect(made.expires_at).not.toBeNull()
  expect(await json(`artifact upload ${rules} --name other`)).toMatchObject({
    id: made.id,
    name: 'rules.md',
    expires_at: null,
  })
  expect(await json(`artifact upload ${file('a.png', PNG)}`)).toMatchObject({ kind: 'image', media_type: 'image/png' })
  const { stdout } = await run(`artifact list --sha256 ${made.sha256}`)
  expect(stdout).toMatch(/^ID +KIND +NAME +BYTES +TOKENS +LAST USED\n/)
  expect(stdout).toMatch(new RegExp(`^${made.id} +text +rules.md +11 +3 +-$`, 'm'))
  expect(await run(`artifact show ${made.id}`)).toEqual(done(expect.stringMatching(/^Expires +never$/m)))
  expect(await run(`artifact delete ${made.id}`)).toEqual(done(`Deleted ${made.id}.\n`))
  expect(await run(`artifact show ${made.id}`)).toEqual(failed(1, /\(404 invalid_request_error\)\n$/))
  expect(await run(`artifact upload ${file('none.json', '{}')} --kind tools`)).toEqual(failed(1, /JSON array/))
  expect(await run('artifact upload /nowhere')).toEqual(failed(2, /no such file/))
})

test('§bundles bundle create, list, show, warm and delete', async () => {
  const { id: rules } = await json(`artifact upload ${file('system.txt', 'Be careful, always.')}`)
  const list = JSON.stringify([{ type: 'function', function: { name: 'look' } }])
  const { id: tools } = await json(`artifact upload ${file('tools.json', list)} --kind tools`)
  const made = await json(`bundle create --name agent --item system=${rules} --tools ${tools}`)
  expect(made).toMatchObject({ object: 'bundle', name: 'agent', tools_artifact_id: tools })
  expect(made.items).toEqual([{ artifact_id: rules, role: 'system' }])
  expect(await run('bundle list')).toEqual(done(expect.stringContaining(`${made.id}  agent`)))
  expect(await run(`bundle show ${made.id}`)).toEqual(done(expect.stringContaining('It was not sent anywhere yet.')))
  expect(await run(`bundle warm ${made.id} --model gpt-4o-mini --max-usd 0.01`)).toEqual(
    done(expect.stringMatching(/^placeholder\S* +gpt-4o-mini +warmed /m)),
  )
  expect(await run(`bundle show ${made.id}`)).toEqual(done(expect.stringMatching(/CACHED THEN\n.*gpt-4o-mini +1 /)))
  expect(await run(`artifact delete ${rules}`)).toEqual(failed(1, /part of a bundle/))
  expect(await run(`bundle delete ${made.id}`)).toEqual(done(`Deleted ${made.id}.\n`))
  expect(await run('bundle create --item wrong=art_1')).toEqual(failed(2, /system=art_/))
})
