// `switchyard replay`: recorded calls are planned, asked again within a budget, and compared.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, InvalidArgumentError } from 'commander'
import type { ReplayComparison } from '../../src/replays/replay-comparison.ts'
import type { ReplayItem } from '../../src/replays/replay-item.ts'
import type { ReplayRun } from '../../src/replays/replay-run.ts'
import { idOf, type Printing, print, service, usdAmount, wholeNumber, withExample, withJson } from '../command-line.ts'
import { EXIT, Failure } from '../failure.ts'
import { card, dollars, table, when } from '../table.ts'

const LOOK_MS = 500

interface Planning extends Printing {
  trace?: string[]
  session?: string
  key?: string
  ofModel?: string
  provider?: string
  cluster?: string
  from?: string
  to?: string
  sample?: number
  seed: string
  model?: string
  release?: string
  onCluster?: string
  set?: Record<string, unknown>
  control?: true
}

export function addReplay(program: Command): void {
  const replay = program
    .command('replay')
    .description('replay recorded calls against another target or model, and compare')

  withSource(withJson(replay.command('plan')))
    .description('plan a replay: routes, refusals and cost; no upstream is called')
    .option('--model <model>', 'the model or alias to ask')
    .option('--release <release>', 'the alias release to ask, activated or not', idOf('alr'))
    .option('--on-cluster <cluster>', 'only this cluster', idOf('byc'))
    .option('--set <field=value...>', 'a field of the body that is to be another, as JSON; null leaves it out', fieldIn)
    .option('--control', 'ask each call also as it was recorded: what differs there differs by itself')
    .addHelpText('after', PLAN_EXAMPLES)
    .action(plan)

  const running = withJson(ofRun(replay.command('run')))
    .description('carry out a plan, and watch it; interrupting this command does not stop the run')
    .requiredOption('--max-cost <usd>', 'set aside at once; all calls together cost no more', usdAmount)
    .option('--concurrency <calls>', 'calls at once, 1 to 8', wholeNumber)
    .option('--no-wait', 'do not wait for its end')
    .action(run)
  withExample(running, 'switchyard replay run rpl_1b2c3d4e5f6g7h8i9j0k --max-cost 2.50 --concurrency 4')

  const listing = withJson(replay.command('list')).description('list replay runs, newest first').action(list)
  withExample(listing, 'switchyard replay list')
  const showing = withJson(ofRun(replay.command('status')))
    .description('show a replay run, and why items were skipped or failed')
    .action(status)
  withExample(showing, 'switchyard replay status rpl_1b2c3d4e5f6g7h8i9j0k')
  const comparing = withJson(ofRun(replay.command('compare')))
    .description('compare a run with its recordings: what differs by more than repeating the same calls does')
    .option('--all', 'what does not, too')
    .action(compare)
  withExample(comparing, 'switchyard replay compare rpl_1b2c3d4e5f6g7h8i9j0k --all')

  for (const [step, description] of [
    ['pause', 'make no further calls until it is resumed'],
    ['resume', 'go on where it was paused'],
    ['cancel', 'make no further calls; the unspent part of its budget is returned'],
  ] as const) {
    const stepping = withJson(ofRun(replay.command(step)))
      .description(description)
      .action((id: string, { json }: Printing) => take(id, step, json))
    withExample(stepping, `switchyard replay ${step} rpl_1b2c3d4e5f6g7h8i9j0k`)
  }
}

const PLAN_EXAMPLES = `
Examples:
  $ switchyard replay plan --session ses_1b2c3d4e5f6g7h8i9j0k --model gpt-4o-mini --control
  $ switchyard replay plan --of-model gpt-4o --sample 200 --seed june --release alr_1b2c3d4e5f6g7h8i9j0k
  $ switchyard replay plan --trace trc_0Vb2gv8yUXfiIDfV2q2e --model gpt-4o --set temperature=0`

const ofRun = (command: Command) => command.argument('<run>', 'begins rpl_', idOf('rpl'))

const withSource = (command: Command) =>
  command
    .option('--trace <id...>', 'these calls')
    .option('--session <id>', 'all calls of this session')
    .option('--key <id>', 'only what this key asked for', idOf('key'))
    .option('--of-model <model>', 'only what resolved to this model')
    .option('--provider <id>', 'only this provider')
    .option('--cluster <id>', 'only what this cluster served', idOf('byc'))
    .option('--from <time>', 'only from this RFC 3339 time on')
    .option('--to <time>', 'only before this RFC 3339 time')
    .option('--sample <calls>', 'so many of what matches, drawn by --seed', wholeNumber)
    .option('--seed <text>', 'the same seed draws the same calls', '1')

function fieldIn(text: string, before: Record<string, unknown> = {}): Record<string, unknown> {
  const [, name = '', value = ''] = /^(\w+)=([\s\S]+)$/.exec(text) ?? []
  if (name === '') throw new InvalidArgumentError('It must have the form temperature=0.')
  return { ...before, [name]: parsed(value) }
}

/** What is no JSON is a text. */
function parsed(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

function sourceOf({ trace, session, key, ofModel, provider, cluster, from, to, sample, seed }: Planning) {
  const drawn = sample === undefined ? {} : { sample: { n: sample, seed } }
  if (trace) return { trace_ids: trace, ...drawn }
  if (session !== undefined) return { session_id: session, ...drawn }
  return { filter: { key_id: key, model: ofModel, provider, cluster_id: cluster, from, to }, ...drawn }
}

async function plan(asked: Planning): Promise<void> {
  const { model, release, onCluster, set, control, json } = asked
  const { body, text } = await service().postLong<ReplayRun>('/v2/replay-runs', {
    source: sourceOf(asked),
    target: { model, alias_release_id: release, cluster_id: onCluster },
    overrides: set,
    control,
  })
  if (json) return print(text)
  print(describe(body))
  print(await troubles(body))
  print(`Nobody was called. To ask: switchyard replay run ${body.id} --max-cost ${usd(body.plan.high_micros)}`)
}

const usd = (micros: number) => dollars(Math.max(micros, 1)).slice(1)

interface Running extends Printing {
  maxCost: number
  concurrency?: number
  wait: boolean
}

async function run(id: string, { maxCost, concurrency, wait, json }: Running): Promise<void> {
  const terms = { max_cost_usd: maxCost, concurrency }
  const begun = await service().post<ReplayRun>(`/v2/replay-runs/${id}/execute`, terms)
  const { body, text } = wait ? await lookUntilOver(id) : begun
  print(json ? text : describe(body))
  if (!json) print(await troubles(body))
  if (body.status === 'failed' || body.status === 'cancelled')
    throw new Failure(EXIT.failed, `The replay run ${id} is ${body.status}. ${body.error ?? ''}`.trim())
  if (!json && body.status === 'completed') print(`To compare: switchyard replay compare ${id}`)
}

async function lookUntilOver(id: string) {
  for (;;) {
    const found = await service().get<ReplayRun>(`/v2/replay-runs/${id}`)
    if (!['queued', 'running'].includes(found.body.status)) return found
    progress(found.body)
    await sleep(LOOK_MS)
  }
}

/** For people who watch; what is printed is how it ended. */
function progress({ status, items, spent_micros, max_cost_micros }: ReplayRun): void {
  if (!process.stderr.isTTY) return
  const over = items.done + items.skipped + items.failed
  const filled = Math.round((20 * over) / Math.max(1, items.total))
  const bar = `${'#'.repeat(filled)}${'.'.repeat(20 - filled)}`
  const money = `${dollars(spent_micros)} of ${dollars(max_cost_micros ?? 0)}`
  process.stderr.write(`\r${status} [${bar}] ${over} of ${items.total}, ${money} `)
}

async function list({ json }: Printing): Promise<void> {
  const { body, text } = await service().get<{ data: ReplayRun[] }>('/v2/replay-runs')
  if (json) return print(text)
  const rows = body.data.map(({ id, status, items, spent_micros, created_at }) => [
    ...[id, status, `${items.done} of ${items.total}`, dollars(spent_micros), when(created_at)],
  ])
  print(table(['RUN', 'STATUS', 'DONE', 'SPENT', 'CREATED'], rows))
}

async function status(id: string, { json }: Printing): Promise<void> {
  const { body, text } = await service().get<ReplayRun>(`/v2/replay-runs/${id}`)
  print(json ? text : describe(body))
  if (!json) print(await troubles(body))
}

async function take(id: string, step: 'pause' | 'resume' | 'cancel', json: boolean | undefined): Promise<void> {
  const { body, text } = await service().post<ReplayRun>(`/v2/replay-runs/${id}/${step}`, {})
  print(json ? text : describe(body))
}

const whither = ({ target, control }: ReplayRun) =>
  [target.model ?? target.alias_release_id, target.cluster_id, ...(control ? ['with a control arm'] : [])]
    .filter((part) => part !== undefined)
    .join(', ')

function describe(run: ReplayRun): string {
  const { id, status, items, plan: planned, max_cost_micros, spent_micros, returned_micros, error } = run
  const others = (['pending', 'running', 'skipped', 'failed'] as const).filter((name) => items[name] > 0)
  const shares = [`${items.done} of ${items.total} done`, ...others.map((name) => `${items[name]} ${name}`)]
  return card({
    Run: id,
    Status: status,
    Target: whither(run),
    Items: shares.join(', '),
    Plan: `${dollars(planned.low_micros)} with the recorded tokens, ${dollars(planned.high_micros)} at the most`,
    ...(max_cost_micros !== null && { 'Set aside': dollars(max_cost_micros), Spent: dollars(spent_micros) }),
    ...(returned_micros !== null && { Returned: dollars(returned_micros) }),
    ...(error && { Error: error }),
  })
}

const TROUBLES_MAX = 10

/** The first of each kind. */
async function troubles({ id, items }: ReplayRun): Promise<string> {
  const told: ReplayItem[] = []
  for (const status of ['skipped', 'failed'] as const)
    if (items[status] > 0)
      told.push(
        ...(await service().get<{ data: ReplayItem[] }>(`/v2/replay-runs/${id}/items?status=${status}&limit=1000`)).body
          .data,
      )
  const kinds = new Map<string, { count: number; first: ReplayItem }>()
  for (const item of told) {
    const kind = `${item.reason} ${item.message}`
    kinds.set(kind, { count: (kinds.get(kind)?.count ?? 0) + 1, first: kinds.get(kind)?.first ?? item })
  }
  if (kinds.size === 0) return ''
  const rows = [...kinds.values()]
    .slice(0, TROUBLES_MAX)
    .map(({ count, first }) => [
      ...[String(count), first.status, first.reason ?? '', first.message ?? '', `${first.trace_id}/${first.arm}`],
    ])
  return table(['ITEMS', 'STATUS', 'REASON', 'MESSAGE', 'SUCH AS'], rows)
}

async function compare(id: string, { json, all }: Printing & { all?: true }): Promise<void> {
  const { body, text } = await service().get<ReplayComparison>(`/v2/replay-runs/${id}/comparison`)
  if (json) return print(text)
  const { compared, control_compared, rates, amounts, differences } = body
  const against = control_compared === null ? 'no control arm' : `${control_compared} of the control arm`
  print(`${compared} calls compared with what was recorded; ${against}.`)
  const shown = <One extends { exceeds_control: boolean }>(lines: One[]) =>
    all ? lines : lines.filter((line) => line.exceeds_control)
  const differing = shown(rates).map(({ measure, target, control }) => [measure, rateText(target), rateText(control)])
  const taking = shown(amounts).map(({ measure, recorded, target, control }) => [
    ...[measure, amountText(measure, recorded), deltaText(measure, target), deltaText(measure, control)],
  ])
  if (differing.length > 0) print(table(['DIFFERS', 'TARGET', 'CONTROL'], differing))
  if (taking.length > 0) print(table(['TAKES', 'RECORDED', 'TARGET', 'CONTROL'], taking))
  if (differences.length === 0)
    print(`Nothing differs ${control_compared === null ? 'beyond chance' : 'by more than the control arm does'}.`)
}

type Rates = ReplayComparison['rates'][number]
type Amounts = ReplayComparison['amounts'][number]

const percent = (share: number) => `${(100 * share).toFixed(1)} %`

const rateText = (rate: Rates['target'] | null) =>
  rate === null ? '-' : `${rate.count} of ${rate.of}, ${percent(rate.low)} to ${percent(rate.high)}`

const isMoney = (measure: string) => measure.endsWith('_micros')

const amountText = (measure: string, amount: number) => (isMoney(measure) ? dollars(amount) : String(amount))

function deltaText(measure: Amounts['measure'], side: Amounts['target'] | null): string {
  if (side === null) return '-'
  const sign = side.delta < 0 ? '-' : '+'
  return `${amountText(measure, side.sum)} (${sign}${amountText(measure, Math.abs(side.delta))})`
}
