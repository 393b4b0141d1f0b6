// `switchyard recording`: §4.16 over HTTP.
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { DroppedRecordings, RecordedText, RecordingEntry, RecordingView } from '../../src/recordings/recording.ts'
import { type Printing, print, service, wholeNumber, withExample, withJson } from '../command-line.ts'
import { card, table, when } from '../table.ts'

const SHOWN = 50

export function addRecording(program: Command): void {
  const recording = program.command('recording').description('exact requests and answers of generations')

  for (const [word, what] of [
    ['on', 'record the generations of the project that SWITCHYARD_KEY belongs to'],
    ['off', 'stop that; what was recorded stays until its days are over'],
  ] as const)
    withExample(
      withJson(recording.command(word))
        .description(what)
        .action((options: Printing) => turn(word === 'on', options)),
      `switchyard recording ${word}`,
    )

  const listing = withJson(recording.command('list'))
    .description('list recordings, newest first, and how many calls were not recorded')
    .option('--limit <count>', `at most so many (default: ${SHOWN} in a table)`, wholeNumber)
    .option('--after <trace>', 'only those older than this one, the last of a page', traceIn)
    .action(list)
  withExample(listing, 'switchyard recording list --limit 20')

  const showing = withJson(recording.command('show'))
    .description('show what a client sent, and what it was answered')
    .argument('<trace>', 'begins trc_ or req_', traceIn)
    .addOption(new Option('--only <part>', 'print this alone, as it was').choices(['request', 'answer']))
    .action(show)
  withExample(
    showing,
    'switchyard recording show trc_1b2c3d4e5f6g7h8i9j0k',
    'switchyard recording show trc_1b2c3d4e5f6g7h8i9j0k --only request | jq .messages',
  )
}

function traceIn(text: string): string {
  if (!/^(trc|req)_\w+$/.test(text)) throw new InvalidArgumentError('It must begin with trc_ or req_.')
  return text
}

async function turn(enabled: boolean, { json }: Printing): Promise<void> {
  const { body, text } = await service().post<{ name: string }>('/v2/project/recordings', { enabled })
  print(json ? text : `${body.name}: generations are ${enabled ? 'recorded from now on' : 'not recorded any more'}.`)
}

interface Listed {
  data: RecordingEntry[]
  has_more: boolean
  dropped: DroppedRecordings[]
}

async function list({ limit, after, json }: Printing & { limit?: number; after?: string }): Promise<void> {
  const most = limit ?? (json ? undefined : SHOWN)
  const query = new URLSearchParams({
    ...(most !== undefined && { limit: String(most) }),
    ...(after !== undefined && { after }),
  })
  const { body, text } = await service().get<Listed>(`/v2/recordings?${query}`)
  if (json) return print(text)
  const rows = body.data.map((one) => [
    one.trace_id,
    when(one.created_at),
    one.endpoint,
    String(one.status),
    one.stream ? 'stream' : 'whole',
    String(one.request_bytes),
    String(one.answer_bytes),
  ])
  print(table(['TRACE', 'AT', 'ENDPOINT', 'STATUS', 'ANSWER', 'BYTES IN', 'BYTES OUT'], rows))
  for (const { reason, count, meaning } of body.dropped) print(`Not recorded (${reason}): ${count}. ${meaning}`)
}

async function show(trace: string, { only, json }: Printing & { only?: 'request' | 'answer' }): Promise<void> {
  const { body, text } = await service().get<RecordingView>(`/v2/recordings/${trace}`)
  if (json) return print(text)
  if (only) return print(plain(body, only))
  const fields = {
    Trace: body.trace_id,
    Key: body.key_id,
    Endpoint: body.endpoint,
    Status: `${body.status}${body.stream ? ', a stream' : ''}`,
    At: when(body.created_at),
    Expires: when(body.expires_at),
  }
  print(`${card(fields)}\nRequest:\n\n${plain(body, 'request')}\n\nAnswer:\n\n${plain(body, 'answer')}`)
}

function plain(recording: RecordingView, part: 'request' | 'answer'): string {
  const { text, encoding, bytes }: RecordedText = recording[part]
  if (text === null) return `(${bytes} bytes: GET /v2/recordings/${recording.trace_id}/${part} has them)`
  return encoding === 'base64' ? Buffer.from(text, 'base64').toString('latin1') : text
}
