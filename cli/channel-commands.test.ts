// channel against a running server: output for people, JSON for programs, exit codes.
import { afterAll, expect, test } from 'vitest'
import { commandsOfService, done, failed } from '../test/support/running-commands.ts'
import { webhookReceiver } from '../test/support/webhook-receiver.ts'

const { run, json } = commandsOfService()
const receiver = await webhookReceiver()
afterAll(() => receiver.close())

test('§notifications a channel from its making to its end', async () => {
  const made = await json(`channel create --name ops --webhook ${receiver.url} --event key.expiring`)
  expect(made).toMatchObject({ kind: 'webhook', events: ['key.expiring'], secret: expect.stringMatching(/^whsec_/) })
  const { id } = made
  expect(await run('channel list')).toEqual(
    done(expect.stringMatching(new RegExp(`^${id} +webhook +ops +active `, 'm'))),
  )
  expect(await run(`channel show ${id}`)).toEqual(done(expect.not.stringContaining('whsec_')))
  expect(await run(`channel rotate ${id}`)).toEqual(done(expect.stringMatching(/^Secret +whsec_/m)))
  expect(await run(`channel test ${id}`)).toEqual(done(expect.stringContaining('on its way')))
  const [sent] = (await json(`channel deliveries ${id}`)).data
  expect(sent).toMatchObject({ type: 'test', channel_id: id })
  expect(await run(`channel deliveries ${id}`)).toEqual(done(expect.stringContaining(sent.id)))
  expect(await run(`channel redeliver ${id} ${sent.id}`)).toEqual(done(expect.stringContaining(sent.event_id)))
  expect(await run(`channel pause ${id}`)).toEqual(done(expect.stringMatching(/^Status +paused$/m)))
  expect(await run(`channel resume ${id}`)).toEqual(done(expect.stringMatching(/^Status +active$/m)))
  expect(await run(`channel delete ${id}`)).toEqual(done(`The channel ${id} is deleted.\n`))
  expect(await run(`channel show ${id}`)).toEqual(failed(1, /\(404 /))
})

test('§notifications what cannot be meant is said', async () => {
  expect(await run('channel create --name x')).toEqual(failed(2, /give one of --webhook, --slack and --mail/))
  expect(await run('channel create --name x --mail nobody@example.com')).toEqual(failed(1, /'email' must be/))
  expect(await run('channel show key_1')).toEqual(failed(2, /must begin with nch_/))
})
