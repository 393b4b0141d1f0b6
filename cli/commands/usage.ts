// `switchyard usage`: §8.2.3 over HTTP, as a table, as JSON or as CSV.
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { UsageEvent } from '../../src/usage/usage-event.ts'
import type { Group, UsageGroup } from '../../src/usage/usage-query.ts'
import { idOf, type Printing, print, service, wholeNumber, withExample, withJson } from '../command-line.ts'
import { dollars, table, when } from '../table.ts'
import { addQuarantine } from './quarantine.ts'

export type Shown = Group | 'tag'

export const HEADINGS: Record<Shown, string> = {
  day: 'DAY',
  model: 'MODEL',
  key_id: 'KEY',
  provider: 'PROVIDER',
  profile: 'PROFILE',
  cluster_id: 'CLUSTER',
  bundle_id: 'BUNDLE',
  tag: 'TAG',
}

/** By what usage is added up, beside tags. */
export const GROUPS = (Object.keys(HEADINGS) as Shown[]).filter((group): group is Group => group !== 'tag')
const SHOWN = 50 // more than this is read by programs, which ask for JSON or CSV

interface Asked extends Printing {
  from?: string
  to?: string
  key?: string
  model?: string
  provider?: string
  profile?: string
  cluster?: string
  session?: string
  tag?: string
  trace?: string
  groupBy?: string
  limit?: number
  after?: string
  csv?: true
}

export function addUsage(program: Command): void {
  const usage = withJson(program.command('usage'))
    .description('what generations used and cost, newest first, or added up')
    .option('--from <time>', 'from this time on, such as 2026-11-01T00:00:00Z or 2026-11-01', timeIn)
    .option('--to <time>', 'before this time', timeIn)
    .option('--key <id>', 'only this API key', idOf('key'))
    .option('--model <name>', 'only generations that resolved to this model')
    .option('--provider <id>', 'only this provider')
    .option('--profile <name>', 'only this execution profile')
    .option('--cluster <id>', 'only this cluster', idOf('byc'))
    .option('--session <id>', 'only this session')
    .option('--tag <tag>', 'only what has this tag, such as team=search')
    .option('--trace <id>', 'only this generation')
    .option(
      '--group-by <fields>',
      `add up by one or more of ${GROUPS.join(', ')}, tag:<name>, with commas between them`,
      groupsIn,
    )
    .option('--limit <count>', `at most so many rows (default: ${SHOWN} in a table of single generations)`, wholeNumber)
    .option('--after <trace>', 'only generations older than this one, the last of a page')
    .addOption(new Option('--csv', 'print CSV, amounts in micro-USD').conflicts('json'))
    .action(show)
  withExample(
    usage,
    'switchyard usage --from 2026-11-01 --group-by day,model',
    'switchyard usage --key key_1b2c3d4e5f6g7h8i9j0k --limit 20',
    'switchyard usage --from 2026-11-01 --to 2026-12-01 --csv > november.csv',
  )
  addQuarantine(usage)
}

/** A day alone is its midnight, UTC: that is how days are added up. */
export function timeIn(text: string): string {
  const time = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text
  if (Number.isNaN(Date.parse(time))) throw new InvalidArgumentError('It must be a time such as 2026-11-01T00:00:00Z.')
  return time
}

export function groupsIn(text: string): string {
  if (!text.split(',').every((one) => one.startsWith('tag:') || GROUPS.some((group) => group === one)))
    throw new InvalidArgumentError(`It must be one or more of ${GROUPS.join(', ')}, tag:<name>.`)
  return text
}

function pathOf({ from, to, key, model, provider, profile, cluster, session, trace, ...asked }: Asked): string {
  const { tag, groupBy, after, csv, json, limit = groupBy || csv || json ? undefined : SHOWN } = asked
  const query = {
    ...{ from, to, key_id: key, model, provider, profile, cluster_id: cluster, session_id: session, trace_id: trace },
    ...{ tag, group_by: groupBy, limit, after },
  }
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value))
  return given.size > 0 ? `/v2/usage?${given}` : '/v2/usage'
}

async function show(asked: Asked): Promise<void> {
  const path = pathOf(asked)
  if (asked.csv) return print(await service().getText(path, 'text/csv'))
  const { body, text } = await service().get<{ data: (UsageEvent | UsageGroup)[]; has_more: boolean }>(path)
  if (asked.json) return print(text)
  const groups = asked.groupBy ? groupsShown(asked.groupBy) : []
  print(groups.length > 0 ? grouped(groups, body.data as UsageGroup[]) : single(body.data as UsageEvent[]))
  const last = body.data.at(-1)
  if (body.has_more)
    print(last?.object === 'usage_event' ? `There are more: --after ${last.trace_id}` : 'There are more.')
}

/** The values of a tag stand last. */
export function groupsShown(text: string): Shown[] {
  const asked = text.split(',')
  const tag = asked.some((one) => one.startsWith('tag:')) ? (['tag'] as const) : []
  return [...GROUPS.filter((group) => asked.includes(group)), ...tag]
}

const grouped = (groups: readonly Shown[], rows: readonly UsageGroup[]) =>
  table(
    [...groups.map((group) => HEADINGS[group]), 'REQUESTS', 'INPUT', 'OUTPUT', 'CHARGED'],
    rows.map((row) => [...groups.map((group) => row[group] ?? '-'), String(row.events), ...amountsOf(row)]),
  )

const single = (events: readonly UsageEvent[]) =>
  table(
    ['TIME', 'TRACE', 'KEY', 'MODEL', 'PROVIDER', 'STATUS', 'MS', 'INPUT', 'OUTPUT', 'CHARGED'],
    events.map((event) => [
      when(event.created_at),
      event.trace_id,
      event.key_id,
      event.resolved_model,
      event.provider,
      event.status,
      String(event.duration_ms),
      ...amountsOf(event),
    ]),
  )

export const amountsOf = ({ input_tokens, output_tokens, charged_micros }: UsageEvent | UsageGroup) => [
  String(input_tokens),
  String(output_tokens),
  dollars(charged_micros),
]
