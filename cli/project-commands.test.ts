// project and owner-link against a running server: output for people, JSON for programs, exit codes.
import { expect, test as sequential } from 'vitest'
import { commandsOfService, done, failed } from '../test/support/running-commands.ts'

// No test minds what another one creates, so they run side by side.
const test = sequential.concurrent
const { as, run, json, ask, place } = commandsOfService()

test('§2 project create works beside a running server, for people and for programs', async () => {
  const created = await json('project create --name one --owner-email Ada@Example.com --verified')
  expect(created).toMatchObject({
    project: { id: expect.stringMatching(/^prj_/), object: 'project', name: 'one', owner_id: created.owner.id },
    owner: { email: 'ada@example.com', verified_at: created.project.created_at },
    api_key: { object: 'api_key', scopes: ['admin'], project_id: created.project.id },
    key: expect.stringMatching(/^svc_live_/),
  })
  expect(created.api_key).not.toHaveProperty('key')
  expect(JSON.parse(await ask('/v2/api-keys', created.key)).data[0].id).toBe(created.api_key.id)

  const { stdout } = await run('project create --name two --owner-email eve@example.com')
  expect(stdout).toMatch(/^Owner +eve@example\.com \(not verified/m)
  const [key = ''] = /svc_live_\w+/.exec(stdout) ?? []
  expect(await as(key, 'key create --name x')).toEqual(
    failed(1, /^switchyard: Verify .* \(403 insufficient_scope\)\n$/),
  )
})

test('§2 project create refuses an address or a name that is none', async () => {
  const refused = await run('project create --name x --owner-email nobody')
  expect(refused).toEqual(failed(1, /^switchyard: 'email' must be an e-mail address\.\n$/))
  const long = await run(`project create --name ${'x'.repeat(257)} --owner-email a@example.com`)
  expect(long).toEqual(failed(1, /^switchyard: 'name' must have at most 256 characters\.\n$/))
})

test('0163 project list, and a key added to a project as its operator, by id or name; it is on record there', async () => {
  const { project, key } = await json('project create --name harbour --owner-email bea@example.com --verified')
  const { stdout } = await run('project list')
  expect(stdout).toMatch(/^ID +NAME +OWNER +KEYS +SPENT +CAP +CREATED\nprj_\w+ +default +owner@switchyard\.local +\d+ /)
  expect(stdout).toMatch(new RegExp(`^${project.id} +harbour +bea@example\\.com +1 +\\$0\\.00 +- +\\d{4}-`, 'm'))
  const listed: { id: string }[] = (await json('project list')).data
  expect(listed.map(({ id }) => id)).toContain(project.id)

  // The last admin key is lost: the operator makes another, without a key.
  const nobody = { SWITCHYARD_URL: 'http://127.0.0.1:1' }
  const line = ['key', 'create', '--project', 'harbour', '--name', 'rescue', '--scope', 'admin', '--json']
  const made = JSON.parse((await place().run(line, nobody)).stdout)
  expect(made).toMatchObject({ project_id: project.id, name: 'rescue', scopes: ['admin'] })
  expect((await as(made.key, 'key list')).stdout).toContain('rescue')
  expect(await ask('/v2/audit-log?actor=operator', key)).toContain('"action":"switchyard key create"')
  expect(await run(`key create --project ${project.id} --name plain`)).toEqual(
    done(expect.stringMatching(/^ {2}svc_live_\w{42}$/m)),
  )

  const unknown = await run('key create --project nowhere --name x')
  expect(unknown).toEqual(failed(1, /^switchyard: There is no project 'nowhere'\. .*project list.*\n$/))
  await json('project create --name harbour --owner-email carl@example.com --verified')
  const twice = await run('key create --project harbour --name x')
  expect(twice).toEqual(failed(1, /^switchyard: Several projects are called 'harbour'\. .*prj_\w+, prj_\w+\.\n$/))
  const again = await run('project create --name harbour --owner-email carl@example.com')
  expect(again).toEqual(failed(1, /^switchyard: carl@example\.com owns a project 'harbour' already: prj_\w+\.\n$/))
})

test('0365 project second-factor: required and optional, and nothing else', async () => {
  const { key } = await json('project create --name stepped --owner-email fay@example.com --verified')
  expect((await as(key, 'project second-factor required')).stdout).toMatch(/: a second step is required\.$/m)
  const lifted = JSON.parse((await as(key, 'project second-factor optional --json')).stdout)
  expect(lifted.second_factor_required).toBe(false)
  expect(await as(key, 'project second-factor sometimes')).toEqual(failed(2, /required, optional/))
})

test('R72 project cap: what is given changes, overage among it, and nothing else', async () => {
  const { key } = await json('project create --name capped --owner-email emil@example.com --verified')
  const cap = async (options: string) => JSON.parse((await as(key, `project cap ${options} --json`)).stdout)
  expect(await cap('--usd 5')).toMatchObject({ cap_micros: 5_000_000, overage_enabled: false })
  expect(await cap('--overage')).toMatchObject({ cap_micros: 5_000_000, overage_enabled: true })
  expect((await as(key, 'project cap --usd 6')).stdout).toMatch(/^Cap +\$6\.00\nOverage +calls go on above the cap$/m)
  expect(await cap('--clear --no-overage')).toMatchObject({ overage_enabled: false })
  expect(await as(key, 'project cap')).toEqual(failed(2, /give --usd with an amount/))
  expect(await as(key, 'project cap --json')).toEqual(failed(2, /--no-overage/))
})

test('0160 owner-link prints a link for a project without an owner who signs in', async () => {
  await json('project create --name pier --owner-email dora@example.com')
  const printed = await json('owner-link --project pier')
  expect(printed).toMatchObject({
    project_name: 'pier',
    url: expect.stringMatching(/^http:.*become-owner#token=\w{43}$/),
  })
  const { stdout } = await run('owner-link --project pier')
  expect(stdout).toMatch(/^Open this to own the project pier\. It works once, until \d{4}-.* UTC\./)
  expect(stdout).not.toContain(printed.url)
})
