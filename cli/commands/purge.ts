// `switchyard purge` and `switchyard receipt verify`: contents of a project are counted, erased and accounted for.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import type { PurgeJob } from '../../src/purges/purge-job.ts'
import type { PurgeReceipt } from '../../src/purges/purge-receipt.ts'
import { existingFile, idOf, type Printing, print, service, withExample, withJson } from '../command-line.ts'
import { EXIT, Failure } from '../failure.ts'
import { configuration, operateReceipts } from '../on-demand.ts'
import { card, table, when } from '../table.ts'

const LOOK_MS = 500

interface Filter {
  session?: string[]
  response?: string[]
  trace?: string[]
  artifact?: string[]
  bundle?: string[]
  key?: string
  from?: string
  to?: string
  everything?: true
  confirm?: string
  kind?: string[]
}

export function addPurge(program: Command): void {
  const purge = program.command('purge').description('erase contents of the project that SWITCHYARD_KEY belongs to')

  const planning = withFilter(withJson(purge.command('plan')))
    .description('count what a filter matches; nothing is erased')
    .action(plan)
  withExample(
    planning,
    'switchyard purge plan --session ses_1b2c3d4e5f6g7h8i9j0k',
    'switchyard purge plan --key key_1b2c3d4e5f6g7h8i9j0k --to 2026-11-01T00:00:00Z',
  )

  const erasing = withFilter(withJson(purge.command('erase')))
    .description('erase what a plan counted, or what a filter matches; prints the receipt')
    .argument('[plan]', 'begins prg_', idOf('prg'))
    .action(erase)
  withExample(
    erasing,
    'switchyard purge erase prg_1b2c3d4e5f6g7h8i9j0k --json > receipt.json',
    'switchyard purge erase --everything --confirm "my project" --json > receipt.json',
  )

  const listing = withJson(purge.command('list')).description('list purge jobs, newest first').action(list)
  withExample(listing, 'switchyard purge list')
  const showing = withJson(ofJob(purge.command('show')))
    .description('show a purge job')
    .action(show)
  withExample(showing, 'switchyard purge show prg_1b2c3d4e5f6g7h8i9j0k')
  const cancelling = withJson(ofJob(purge.command('cancel')))
    .description('stop erasing; what was erased stays erased')
    .action(cancel)
  withExample(cancelling, 'switchyard purge cancel prg_1b2c3d4e5f6g7h8i9j0k')
  const receipt = ofJob(purge.command('receipt'))
    .description('print the receipt of a job that succeeded, as JSON')
    .action(async (id: string) => print((await service().get(`/v2/purge-jobs/${id}/receipt`)).text))
  withExample(receipt, 'switchyard purge receipt prg_1b2c3d4e5f6g7h8i9j0k > receipt.json')
}

const ofJob = (command: Command) => command.argument('<job>', 'begins prg_', idOf('prg'))

export function addReceipt(program: Command): void {
  const verifying = withJson(program.command('receipt').description('receipts of purge jobs').command('verify'))
    .description('verify that a server signed a receipt, by asking it or with its secret; exits 1 where it did not')
    .argument('<file>', 'a receipt, as JSON', existingFile)
    .option('--local', 'with the secret of the store that the settings name, without a service')
    .action(verify)
  withExample(verifying, 'switchyard receipt verify receipt.json', 'switchyard receipt verify receipt.json --local')
}

const withFilter = (command: Command) =>
  command
    .option('--session <id...>', 'these sessions, and what their calls left')
    .option('--response <id...>', 'these stored responses, and what their calls left')
    .option('--trace <id...>', 'what these calls left')
    .option('--artifact <id...>', 'these artifacts, with the bundles made of them')
    .option('--bundle <id...>', 'these bundles')
    .option('--key <id>', 'only what was made with this key or a child of it', idOf('key'))
    .option('--from <time>', 'only what was made from this RFC 3339 time on')
    .option('--to <time>', 'only what was made before this RFC 3339 time')
    .option('--everything', 'all contents of the project; needs --confirm')
    .option('--confirm <name>', "the project's name")
    .option('--kind <kind...>', 'only these kinds')

function bodyOf({ session, response, trace, artifact, bundle, key, from, to, everything, confirm, kind }: Filter) {
  const filter = {
    ...{ session_ids: session, response_ids: response, trace_ids: trace, artifact_ids: artifact, bundle_ids: bundle },
    ...{ key_id: key, from, to, everything },
  }
  return { filter, confirm, kinds: kind }
}

async function plan(asked: Filter & Printing): Promise<void> {
  const { body } = await service().post<PurgeJob>('/v2/purge-jobs', { ...bodyOf(asked), mode: 'plan' })
  const { body: counted, text } = await lookUntil(body.id, (job) => job.kinds.every(({ matched }) => matched !== null))
  if (asked.json) return print(text)
  print(describe(counted))
  print(`Nothing was erased. To erase it: switchyard purge erase ${counted.id}`)
}

async function erase(id: string | undefined, asked: Filter & Printing, command: Command): Promise<void> {
  const { filter } = bodyOf(asked)
  const isFiltered = Object.values(filter).some((value) => value !== undefined)
  if ((id === undefined) !== isFiltered) command.error('give a plan or a filter')
  const begun =
    id === undefined
      ? await service().post<PurgeJob>('/v2/purge-jobs', { ...bodyOf(asked), mode: 'erase' })
      : await service().post<PurgeJob>(`/v2/purge-jobs/${id}/erase`, {})
  const { body: job } = await lookUntil(
    begun.body.id,
    ({ status }) => !['queued', 'running'].includes(status),
    progress,
  )
  if (job.status !== 'succeeded')
    throw new Failure(EXIT.failed, `The purge job ${job.id} is ${job.status}. ${job.error ?? ''}`.trim())
  const { body: receipt, text } = await service().get<PurgeReceipt>(`/v2/purge-jobs/${job.id}/receipt`)
  if (asked.json) return print(text)
  print(
    table(
      ['KIND', 'ERASED'],
      receipt.erased.map(({ kind, count }) => [kind, String(count)]),
    ),
  )
  print(card({ Digest: receipt.digest, Storage: receipt.storage.meaning, Signature: receipt.signature }))
  print(`Not covered:\n${receipt.not_covered.map((line) => `  ${line}`).join('\n')}`)
  print(`The receipt: switchyard purge receipt ${job.id}`)
}

/** A job runs by itself: whoever stops looking stops nothing. */
async function lookUntil(id: string, isOver: (job: PurgeJob) => boolean, tell: (job: PurgeJob) => void = () => {}) {
  for (;;) {
    const found = await service().get<PurgeJob>(`/v2/purge-jobs/${id}`)
    if (isOver(found.body) || ['failed', 'cancelled'].includes(found.body.status)) return found
    tell(found.body)
    await sleep(LOOK_MS)
  }
}

/** For people who watch; what is printed is the receipt alone. */
function progress({ status, kinds }: PurgeJob): void {
  if (!process.stderr.isTTY) return
  const sum = (field: 'matched' | 'erased') => kinds.reduce((all, kind) => all + (kind[field] ?? 0), 0)
  process.stderr.write(`\r${status}: ${sum('erased')} of ${sum('matched')} erased `)
}

async function list({ json }: Printing): Promise<void> {
  const { body, text } = await service().get<{ data: PurgeJob[] }>('/v2/purge-jobs')
  if (json) return print(text)
  const rows = body.data.map(({ id, status, as_of, kinds }) => [
    ...[id, status, when(as_of), String(kinds.reduce((sum, { erased }) => sum + erased, 0))],
  ])
  print(table(['JOB', 'STATUS', 'AS OF', 'ERASED'], rows))
}

async function show(id: string, { json }: Printing): Promise<void> {
  const { body, text } = await service().get<PurgeJob>(`/v2/purge-jobs/${id}`)
  print(json ? text : describe(body))
}

async function cancel(id: string, { json }: Printing): Promise<void> {
  const { body, text } = await service().post<PurgeJob>(`/v2/purge-jobs/${id}/cancel`, {})
  print(json ? text : describe(body))
}

const number = (count: number | null) => (count === null ? '' : String(count))

function describe({ id, status, as_of, kinds, error }: PurgeJob): string {
  const rows = kinds.map(({ kind, matched, erased, remaining }) => [
    ...[kind, number(matched), String(erased), number(remaining)],
  ])
  const head = card({ Job: id, Status: status, 'As of': when(as_of), ...(error && { Error: error }) })
  return `${head}\n${table(['KIND', 'MATCHED', 'ERASED', 'REMAINING'], rows)}`
}

async function verify(file: string, { local, json }: Printing & { local?: true }): Promise<void> {
  const valid = await isValid(readFileSync(file, 'utf8'), local ?? false)
  if (json) print(JSON.stringify({ valid }))
  else if (valid) print('The receipt is as it was signed.')
  if (!valid) throw new Failure(EXIT.failed, 'This receipt was not signed by this server, or has been changed.')
}

async function isValid(text: string, local: boolean): Promise<boolean> {
  const receipt = parsed(text)
  if (!local) return (await service().post<{ valid: boolean }>('/v2/purge-receipts/verify', receipt)).body.valid
  const { verifyReceipt } = await operateReceipts()
  return verifyReceipt((await configuration()).readConfig(), receipt)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Failure(EXIT.usage, 'The file is not JSON.')
  }
}
