// provider against a running server: output for people, JSON for programs, exit codes, and no secret anywhere.
import { afterAll, expect, test } from 'vitest'
import { commandsOfService, done, failed } from '../test/support/running-commands.ts'
import { startUpstream } from '../test/support/upstream.ts'

const { run, json } = commandsOfService()
const upstream = await startUpstream({ body: { data: [{ id: 'gpt-4o-mini' }] } })
afterAll(() => upstream.close())
const SECRET = 'sk-piped-in-on-standard-input'

test('0343 a provider from its adding to its end', async () => {
  const added = await run(
    `provider add --id spare --base-url ${upstream.base_url} --secret-stdin --model gpt-4o-mini`,
    SECRET,
  )
  expect(added).toEqual(done(expect.stringMatching(/^Secrets +api_key …nput$/m)))
  expect(await run('provider list')).toEqual(done(expect.stringMatching(/^spare +api +active +1 +openai +global +1 /m)))
  expect(await run('provider test spare')).toEqual(done(expect.stringMatching(/^It lists 1 model\. /)))
  expect(upstream.requests[0]?.headers.authorization).toBe(`Bearer ${SECRET}`)
  expect(await json('provider change spare --max-concurrency 5')).toMatchObject({ version: 2 })
  const model = '{"id":"m","input_usd_per_million":1,"output_usd_per_million":2,"max_output_tokens":9}'
  expect(await run(`provider change spare --set-model ${model}`)).toEqual(
    done(expect.stringMatching(/^Models +gpt-4o-mini, m$/m)),
  )
  expect((await run('provider test spare')).stdout).toMatch(/does not list 1 of the 2 that are entered here: m\. /)
  expect(await run('provider change spare --region eu --version-seen 1')).toEqual(failed(1, /at version 3 .*\(412 /))
  expect(await run('provider drain spare')).toEqual(done(expect.stringMatching(/^Status +draining$/m)))
  expect(await run('provider resume spare')).toEqual(done(expect.stringMatching(/^Status +active$/m)))
  expect(await run('provider restore spare 1')).toEqual(done(expect.stringMatching(/^Calls at once +200$/m)))
  expect(await run('provider versions spare')).toEqual(done(expect.stringMatching(/^ *6 +restored +max_conc/m)))
  expect(await run('provider remove spare')).toEqual(failed(1, /is the last one.*\(409 /))
  expect(await run('provider remove spare --force')).toEqual(done('The provider spare is removed.\n'))
  expect(await run('provider show spare')).toEqual(failed(1, /There is no provider 'spare'.*\(404 /))
})

test('0343 what cannot be meant, and what cannot be used, is said', async () => {
  expect(await run('provider change x')).toEqual(failed(2, /say what to change/))
  expect(await run('provider show A')).toEqual(failed(2, /lower case letters/))
  expect(await run('provider add --id x --base-url ftp://x')).toEqual(failed(1, /base_url must be an absolute http/))
  await run('provider add --id dead --base-url http://127.0.0.1:1/v1')
  expect(await run('provider test dead')).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/could not be asked/),
  })
})
