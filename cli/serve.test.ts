// `switchyard serve` as a process: first and later starts, bad settings, and how it stops.
import { execFile, spawn } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test as sequential, type TestContext } from 'vitest'
import { compiledCommand, type Ended, type Workplace } from '../test/support/command.ts'

// Each test has servers of its own, so they may as well run side by side.
const test = sequential.concurrent
const { workplace } = compiledCommand()

const CLUSTERS = '/v2/byoc/clusters'
const CHOSEN = `svc_live_${'chosen-by-the-operator'.repeat(2)}`

function newWorkplace({ onTestFinished }: TestContext) {
  const place = workplace()
  onTestFinished(place.leave)
  return place
}

const bearer = (key: string) => ({ headers: { authorization: `Bearer ${key}` } })
const statusOf = async (url: string, key: string) => (await fetch(url + CLUSTERS, bearer(key))).status
const keysIn = (text: string) => [...new Set(text.match(/svc_live_\w+/g))]

test('§5 the first start prints one key and a request that works; the next prints none; §4 two servers never share a folder', async (context) => {
  const place = newWorkplace(context)
  const first = await place.serve({}, /Say hello/)
  const [key = '', ...others] = keysIn(first.said.stdout)
  expect([key, others]).toEqual([expect.stringMatching(/^svc_live_\w{42}$/), []])

  expect(first.said.stdout).toContain('It is shown this once')
  expect(await pasted(first.said.stdout)).toMatchObject({ object: 'chat.completion', choices: [{ index: 0 }] })
  const [owner_link = ''] = /\S+become-owner#token=\w{43}/.exec(first.said.stdout) ?? []
  expect(owner_link.startsWith(`${first.url}/console/`)).toBe(true)
  await refusesASecondServer(place, first.url)
  expect(await first.stop()).toMatchObject({ code: 0, stderr: '' })

  // 0160: the link of before outlives the restart, so no other is printed; the log holds no link.
  const second = await place.serve()
  expect(await statusOf(second.url, key)).toBe(200)
  expect((await becomeOwner(second.url, owner_link)).status).toBe(200)
  const { stdout } = await second.stop('SIGINT')
  expect([keysIn(stdout), stdout.includes('become-owner')]).toEqual([[], false])
  expect(stdout).toContain('nobody can sign in to the first project yet')
  for (const file of ['secret', 'switchyard.db'])
    expect((statSync(join(place.folder, 'data', file)).mode & 0o777).toString(8)).toBe('600')
})

/** The printed request, as a shell runs it. */
async function pasted(stdout: string, env: Record<string, string> = {}) {
  const [command = ''] = /curl -s [\s\S]*?-d '.*'\n/.exec(stdout) ?? []
  const { stdout: answer } = await promisify(execFile)('sh', ['-c', command], { env: { ...process.env, ...env } })
  return JSON.parse(answer)
}

const becomeOwner = (url: string, link: string) =>
  fetch(`${url}/auth/become-owner`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      token: link.split('#token=')[1],
      email: 'ada@example.com',
      password: 'correct horse battery',
    }),
  })

/** §4: neither on the same folder nor on the same port, and told so in one line. */
async function refusesASecondServer({ run }: Workplace, url: string): Promise<void> {
  const { port } = new URL(url)
  const elsewhere = { PORT: port, SWITCHYARD_DATA_DIR: 'elsewhere', LOG_LEVEL: 'silent' }
  expect(await Promise.all([run(['serve']), run(['serve'], elsewhere)])).toEqual([
    {
      code: 1,
      stdout: '',
      stderr: 'switchyard: Another switchyard server is using ./data. Stop it, or set SWITCHYARD_DATA_DIR.\n',
    },
    {
      code: 1,
      stdout: '',
      stderr: `switchyard: PORT ${port} on 127.0.0.1 is in use. Stop what listens there, or set PORT.\n`,
    },
  ])
}

test('R5 a bootstrap key is never printed, and works on a later start without the setting; §2 SIGTERM drains', async (context) => {
  const { serve } = newWorkplace(context)
  const first = await serve({ SWITCHYARD_BOOTSTRAP_KEY: CHOSEN }, /Say hello/)
  expect(await statusOf(first.url, CHOSEN)).toBe(200)
  const answer = await pasted(first.said.stdout, { SWITCHYARD_BOOTSTRAP_KEY: CHOSEN })
  expect(answer).toMatchObject({ object: 'chat.completion' })
  const { stdout } = await first.stop()
  expect(stdout).toContain('The admin key is the one in SWITCHYARD_BOOTSTRAP_KEY.')
  for (const untrue of [CHOSEN, 'shown this once', '#token=']) expect(stdout).not.toContain(untrue)

  const second = await serve({ SWITCHYARD_DRAIN_MS: '1500' })
  expect(await statusOf(second.url, `${CHOSEN}x`)).toBe(401)
  expect(await statusOf(second.url, CHOSEN)).toBe(200)
  await drainsOnSigterm(second.url, second.stop)
})

/** §2: readiness goes 503, the request in flight is answered all the same, and the exit code is 0. */
async function drainsOnSigterm(url: string, stop: () => Promise<Ended>): Promise<void> {
  const body = JSON.stringify({ name: 'atlas', region: 'eu-west-1' })
  const inFlight = request(url + CLUSTERS, {
    method: 'POST',
    headers: { ...bearer(CHOSEN).headers, 'content-type': 'application/json', 'content-length': body.length },
  })
  const answered = new Promise<number | undefined>((done, failed) => {
    inFlight.once('response', (response) => done(response.resume().statusCode)).once('error', failed)
  })
  await new Promise((sent) => inFlight.write(body.slice(0, 10), sent))

  const stopped = stop()
  while ((await fetch(`${url}/readyz`)).status === 200);
  inFlight.end(body.slice(10))
  expect(await answered).toBe(200)
  expect(await stopped).toMatchObject({ code: 0, stderr: '' })
}

test('R5 a bootstrap key from a file: the printed call reads it from there', async (context) => {
  const { serve, folder } = newWorkplace(context)
  const file = { SWITCHYARD_BOOTSTRAP_KEY_FILE: join(folder, 'key') }
  writeFileSync(file.SWITCHYARD_BOOTSTRAP_KEY_FILE, `${CHOSEN}\n`)
  const { said } = await serve(file, /Say hello/)
  expect(said.stdout).toContain('The admin key is the one in SWITCHYARD_BOOTSTRAP_KEY_FILE.')
  expect(await pasted(said.stdout, file)).toMatchObject({ object: 'chat.completion' })
})

test.for([
  ['PORT', '80a', /^switchyard: PORT must be a whole number from 0 to 65535\.$/],
  ['HOST', '192.0.2.1', /^switchyard: HOST 192\.0\.2\.1 .* cannot be listened on: EADDRNOTAVAIL\.$/],
  ['DATABASE_URL', 'mysql://x', /^switchyard: DATABASE_URL must begin with postgres/],
  ['SWITCHYARD_SECRET', 'short', /^switchyard: SWITCHYARD_SECRET must have at least 32 characters\.$/],
  ['SWITCHYARD_BOOTSTRAP_KEY', 'svc_live_short', /^switchyard: SWITCHYARD_BOOTSTRAP_KEY must begin with svc_live_/],
  ['SWITCHYARD_CONFIG', '/nowhere.yaml', /^switchyard: SWITCHYARD_CONFIG must name a file that exists\.$/],
  ['SWITCHYARD_DRAIN_MS', '-1', /^switchyard: SWITCHYARD_DRAIN_MS must be a whole number/],
  ['SWITCHYARD_WORKERS', '0', /^switchyard: SWITCHYARD_WORKERS must be a whole number from 1 to 64\.$/],
  ['SWITCHYARD_WORKERS', '2', /^switchyard: SWITCHYARD_WORKERS is 2: more than one needs DATABASE_URL, since .*$/],
  ['LOG_LEVEL', 'loud', /^switchyard: LOG_LEVEL must be one of fatal/],
] as [string, string, RegExp][])(
  '§2 a bad %s stops the start with exit code 2 and one line',
  async ([name, value, line], context) => {
    const { code, stdout, stderr } = await newWorkplace(context).run(['serve'], { LOG_LEVEL: 'silent', [name]: value })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.split('\n')).toEqual([expect.stringMatching(line), ''])
  },
)

test('§2 a data folder that is a file, a database that is away: one line, and the code that says which', async (context) => {
  const { run } = newWorkplace(context)
  const file = await run(['serve'], { SWITCHYARD_DATA_DIR: '/dev/null' })
  expect(file).toMatchObject({ code: 1, stderr: expect.stringMatching(/^switchyard: SWITCHYARD_DATA_DIR .*\n$/) })
  const away = await run(['serve'], { DATABASE_URL: 'postgres://x:secret-word@127.0.0.1:1/x', LOG_LEVEL: 'silent' })
  expect(away).toMatchObject({ code: 3, stderr: expect.stringMatching(/^switchyard: The store cannot .*REFUSED.*\n$/) })
  expect(away.stderr).not.toContain('secret-word')
  const alone = { DATABASE_URL: 'postgres://127.0.0.1:1/x', SWITCHYARD_WORKERS: '2', LOG_LEVEL: 'silent' }
  expect(await run(['serve'], alone)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/needs REDIS_URL, in .*\n$/),
  })
  const dev = await run(['serve', '--dev'], { SWITCHYARD_WORKERS: '2' })
  expect(dev).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^switchyard: SWITCHYARD_WORKERS must be 1 .*\n$/),
  })
})

// Large images and sound go through it: nobody else would notice before the first of them.
test('R77 a TMPDIR that cannot be written to is warned of once, by its name, and the server starts', async (context) => {
  const { serve, folder } = newWorkplace(context)
  const TMPDIR = join(folder, 'nowhere')
  const { stdout } = await (await serve({ TMPDIR })).stop()
  const warned = stdout.split('\n').filter((line) => line.includes('"level":40') && line.includes(TMPDIR))
  expect(warned).toEqual([expect.stringMatching(/no file can be made in .* \(TMPDIR\)/)])
  expect((await (await serve({ TMPDIR: folder })).stop()).stdout).not.toContain('TMPDIR')
})

test('R83 SIGHUP reads the file again, tells the difference, and a bad file changes nothing; nor does SIGUSR2', async (context) => {
  const { expect } = context // polling needs to know which of the concurrent tests it is for
  const { serve, folder } = newWorkplace(context)
  const file = join(folder, 'switchyard.yaml')
  writeFileSync(file, 'limits: { key: { requests_per_minute: 1000 } }')
  const { url, said, signal, stop } = await serve({ SWITCHYARD_BOOTSTRAP_KEY: CHOSEN })
  const limit = () => limitAt(url)
  expect(await limit()).toBe(1_000)
  writeFileSync(file, 'limits: { key: { requests_per_minute: 2000 } }')
  signal('SIGHUP')
  await expect.poll(limit).toBe(2_000)
  await expect.poll(() => said.stdout).toContain('limits.key.requests_per_minute: 1000 → 2000')
  writeFileSync(file, 'limits: { key: { requests_per_minute: -1 } }')
  signal('SIGUSR2')
  await expect.poll(() => said.stdout).toContain('SIGUSR2 replaces workers, and there are none')
  signal('SIGHUP')
  await expect.poll(() => said.stdout).toContain('the settings stay as they were')
  await expect.poll(() => said.stdout).toContain('switchyard.yaml:1: ')
  await expect.poll(limit).toBe(2_000)
  expect(await stop()).toMatchObject({ code: 0, stderr: '' })
})

async function limitAt(url: string): Promise<number> {
  const answer = await fetch(`${url}/v2/gateway`, bearer(CHOSEN))
  const { limits } = (await answer.json()) as { limits: { key: { requests_per_minute: number } } }
  return limits.key.requests_per_minute
}

test('R83 SIGHUP takes what the next start would: a file that was written since, and secrets in files as they are by now', async (context) => {
  const { expect } = context
  const { serve, folder } = newWorkplace(context)
  const place = (name: string) => join(folder, name)
  const started = { SWITCHYARD_BOOTSTRAP_KEY: CHOSEN, OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' }
  const { url, said, signal, stop } = await serve({ ...started, UP_KEY_FILE: place('up-key') })
  signal('SIGHUP')
  await expect.poll(() => said.stdout).toContain('there is no switchyard.yaml to read again')
  writeFileSync(place('up-key'), 'first\n')
  const own = { id: 'own', base_url: 'http://127.0.0.1:9/v1', api_key: `\${UP_KEY}` }
  writeFileSync(
    place('switchyard.yaml'),
    JSON.stringify({ providers: [own], limits: { key: { requests_per_minute: 7 } } }),
  )
  signal('SIGHUP')
  await expect.poll(() => limitAt(url)).toBe(7)
  await expect.poll(() => said.stdout).toContain("provider 'own' is new") // what it says comes by another way
  await expect.poll(() => said.stdout).toContain("provider 'openai' is gone")
  writeFileSync(place('up-key'), 'second\n')
  signal('SIGHUP')
  await expect.poll(() => said.stdout).toContain("provider 'own': api_key changed")
  expect(await stop()).toMatchObject({ code: 0, stderr: '' })
})

test('§2 --dev prints the same key at each start, keeps to a folder of its own, and wants no PostgreSQL', async (context) => {
  const { serve, run, folder } = newWorkplace(context)
  const first = await serve({}, /Say hello/, '--dev')
  const [key = ''] = keysIn(first.said.stdout)
  expect(await pasted(first.said.stdout)).toMatchObject({ object: 'chat.completion' })
  expect(first.said.stdout).toMatch(/become-owner#token=\w{43}/)
  expect(await statusOf(first.url, key)).toBe(200)
  await first.stop()
  const second = await serve({}, /Say hello/, '--dev')
  expect(keysIn(second.said.stdout)).toEqual([key])
  expect(await statusOf(second.url, key)).toBe(200)
  const file = join(folder, 'data/dev/admin-key')
  expect([readFileSync(file, 'utf8'), (statSync(file).mode & 0o777).toString(8)]).toEqual([key, '600'])
  await second.stop()

  const refused = await run(['serve', '--dev'], { DATABASE_URL: 'postgres://127.0.0.1/x' })
  expect(refused).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^switchyard: DATABASE_URL must be unset.*\n$/),
  })
})

test('§2 SIGTERM to `npm start` reaches the server, which stops', async (context) => {
  const place = newWorkplace(context)
  const settings = { PORT: '0', SWITCHYARD_DRAIN_MS: '0', SWITCHYARD_CONFIG: join(place.folder, 'switchyard.yaml') }
  writeFileSync(settings.SWITCHYARD_CONFIG, '')
  const env = { PATH: process.env.PATH ?? '', ...settings, SWITCHYARD_DATA_DIR: join(place.folder, 'data') }
  const npm = spawn('npm', ['start'], { env, detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
  context.onTestFinished(() => void spawn('kill', ['-9', '--', `-${npm.pid}`], { stdio: 'ignore' }))
  let said = ''
  const url = await new Promise<string>((heard) => {
    npm.stdout.setEncoding('utf8').on('data', (text) => {
      said += text
      const [, found] = /Server listening at (http:\/\/127\.0\.0\.1:\d+)/.exec(said) ?? []
      if (found) heard(found)
    })
  })
  npm.kill('SIGTERM')
  const answers = () =>
    fetch(`${url}/healthz`).then(
      () => true,
      () => false,
    )
  await context.expect.poll(answers).toBe(false)
})
