// `switchyard channel`: who is told of what happens to a project, over HTTP.
import type { Command } from 'commander'
import type { Channel } from '../../src/notifications/channel.ts'
import type { Delivery } from '../../src/notifications/notification-delivery.ts'
import { idOf, type Printing, print, service, wholeNumber, withExample, withJson } from '../command-line.ts'
import { card, table, when } from '../table.ts'

const PATH = '/v2/notification-channels'
const ID = 'nch_1b2c3d4e5f6g7h8i9j0k'

export function addChannel(program: Command): void {
  const channel = program
    .command('channel')
    .description('notification channels of the project that SWITCHYARD_KEY belongs to')
  const creating = withJson(channel.command('create'))
    .description('create a channel; the secret of a webhook is printed once')
    .requiredOption('--name <text>', 'what people call it')
    .option('--webhook <url>', 'where signed events are posted')
    .option('--slack <url>', 'the address of an incoming webhook of Slack')
    .option('--mail <address>', 'the confirmed address of a member')
    .option('--event <type...>', 'only these events, such as budget.threshold; default: all')
    .action(create)
  withExample(
    creating,
    'switchyard channel create --name ops --webhook https://example.com/hooks/switchyard',
    'switchyard channel create --name me --mail ada@example.com --event budget.threshold key.expiring',
  )
  withExample(
    withJson(channel.command('list')).description('list channels, newest first').action(list),
    'switchyard channel list',
  )
  ofChannel(channel, 'show', 'show a channel', (id) => service().get<Channel>(`${PATH}/${id}`))
  ofChannel(channel, 'pause', 'send no events until it is resumed', (id) => turn(id, 'paused'))
  ofChannel(channel, 'resume', 'send events again, and retry what is waiting at once', (id) => turn(id, 'active'))
  ofChannel(channel, 'rotate', 'give a webhook a new secret; for 24 hours both sign', (id) =>
    service().post<Channel>(`${PATH}/${id}/rotate-secret`, {}),
  )
  addRest(channel)
}

function addRest(channel: Command): void {
  const deleting = withJson(named(channel.command('delete')))
    .description('delete a channel, with what waits for it and its log')
    .action(async (id: string, { json }: Printing) => {
      const { text } = await service().delete(`${PATH}/${id}`)
      print(json ? text : `The channel ${id} is deleted.`)
    })
  withExample(deleting, `switchyard channel delete ${ID}`)
  const testing = withJson(named(channel.command('test')))
    .description('send a test event')
    .action(async (id: string, { json }: Printing) => {
      const { body, text } = await service().post<Delivery>(`${PATH}/${id}/test`, {})
      print(json ? text : `The event ${body.event_id} is on its way: switchyard channel deliveries ${id}`)
    })
  withExample(testing, `switchyard channel test ${ID}`)
  const logging = withJson(named(channel.command('deliveries')))
    .description('list what was sent and what became of it, newest first')
    .option('--status <status>', 'waiting, delivered, failed or dropped')
    .option('--limit <n>', 'how many', wholeNumber, 50)
    .action(deliveries)
  withExample(logging, `switchyard channel deliveries ${ID} --status failed`)
  const again = withJson(named(channel.command('redeliver')))
    .description('send an event once more, under the same id')
    .argument('<delivery>', 'begins dlv_', idOf('dlv'))
    .action(async (id: string, delivery: string, { json }: Printing) => {
      const { body, text } = await service().post<Delivery>(`${PATH}/${id}/deliveries/${delivery}/redeliver`, {})
      print(json ? text : `The event ${body.event_id} is on its way.`)
    })
  withExample(again, `switchyard channel redeliver ${ID} dlv_1b2c3d4e5f6g7h8i9j0k`)
}

const named = (command: Command) => command.argument('<channel>', 'begins nch_', idOf('nch'))

type Asking = (id: string) => Promise<{ body: Channel; text: string }>

function ofChannel(channel: Command, name: string, description: string, ask: Asking): void {
  const command = withJson(named(channel.command(name)))
    .description(description)
    .action(async (id: string, { json }: Printing) => {
      const { body, text } = await ask(id)
      print(json ? text : describe(body))
    })
  withExample(command, `switchyard channel ${name} ${ID}`)
}

const turn = (id: string, status: 'active' | 'paused') => service().patch<Channel>(`${PATH}/${id}`, { status })

interface Creating extends Printing {
  name: string
  webhook?: string
  slack?: string
  mail?: string
  event?: string[]
}

async function create({ name, webhook, slack, mail, event, json }: Creating, command: Command): Promise<void> {
  const [kind, ...others] = Object.entries({ webhook, slack, mail }).filter(([, target]) => target !== undefined)
  if (!kind || others.length > 0) command.error('give one of --webhook, --slack and --mail')
  const target = mail === undefined ? { url: kind[1] } : { email: mail }
  const { body, text } = await service().post<Channel>(PATH, { kind: kind[0], name, ...target, events: event })
  print(json ? text : describe(body))
}

async function list({ json }: Printing): Promise<void> {
  const { body, text } = await service().get<{ data: Channel[] }>(PATH)
  if (json) return print(text)
  const rows = body.data.map(({ id, kind, name, status, target, failures }) => [
    ...[id, kind, name, status, String(failures), target],
  ])
  print(table(['CHANNEL', 'KIND', 'NAME', 'STATUS', 'FAILURES', 'TO'], rows))
}

async function deliveries(id: string, { status, limit, json }: Printing & { status?: string; limit: number }) {
  const query = new URLSearchParams({ limit: String(limit), ...(status !== undefined && { status }) })
  const { body, text } = await service().get<{ data: Delivery[] }>(`${PATH}/${id}/deliveries?${query}`)
  if (json) return print(text)
  const rows = body.data.map((one) => [
    ...[one.id, one.type, one.subject, one.status, String(one.attempts), when(one.created_at)],
    one.error ?? (one.answer_status === null ? '' : String(one.answer_status)),
  ])
  print(table(['DELIVERY', 'TYPE', 'SUBJECT', 'STATUS', 'ATTEMPTS', 'AT', 'ANSWER'], rows))
}

function describe({ id, kind, name, status, events, target, failures, secret, ...times }: Channel): string {
  return card({
    ...{ Channel: id, Kind: kind, Name: name, Status: status, To: target, Events: events?.join(', ') ?? 'all' },
    Failures: String(failures),
    ...(times.next_try_at && { 'Next try': when(times.next_try_at) }),
    ...(times.previous_secret_until && { 'Old secret until': when(times.previous_secret_until) }),
    ...(secret !== undefined && { Secret: secret }),
  })
}
