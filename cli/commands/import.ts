// `switchyard import`: the set-up of another gateway becomes a switchyard.yaml and keys in the store.
import { type Command, InvalidArgumentError } from 'commander'
import type { Imported, ImportKind } from '../../src/operate/operate-import.ts'
import { existingFile, type Printing, print, withExample } from '../command-line.ts'
import { configuration, operateImport } from '../on-demand.ts'
import { card, table } from '../table.ts'

interface Importing extends Printing {
  keys?: string
  prices?: string
  out: string
  project?: string
  team?: Record<string, string>
  name?: string
  dryRun?: boolean
  force?: boolean
}

export function addImport(program: Command): void {
  const importing = program
    .command('import')
    .description('take over the set-up of another gateway: a switchyard.yaml, and keys that go on working')
  const litellm = common(importing, 'litellm', 'config.yaml', 'LiteLLM’s config.yaml, and its keys')
    .option(
      '--keys <file>',
      'its keys: /key/list?return_full_object=true, or rows of its table; hashes or raw',
      existingFile,
    )
    .option('--team <id=project...>', 'keys of this team go to this project', teams)
  addStoreOptions(litellm)
  withExample(
    litellm,
    'switchyard import litellm config.yaml --keys keys.json --dry-run',
    'switchyard import litellm config.yaml --keys keys.json --team team-7=atlas',
  )
  const bifrost = common(importing, 'bifrost', 'config.json', 'Bifrost’s config.json, with its virtual keys')
  addStoreOptions(bifrost)
  withExample(bifrost, 'switchyard import bifrost config.json --out switchyard.yaml')
  const portkey = common(importing, 'portkey', 'config.json', 'a Portkey config: it becomes an alias').option(
    '--name <alias>',
    'what clients call it (default: the name of the file)',
  )
  withExample(portkey, 'switchyard import portkey fallback.json --name team/fast')
}

function common(importing: Command, kind: ImportKind, file: string, description: string): Command {
  return importing
    .command(kind)
    .description(description)
    .argument('<file>', file, existingFile)
    .option('--out <file>', 'what is written', 'switchyard.yaml')
    .option(
      '--prices <file>',
      'LiteLLM’s model_prices_and_context_window.json, for models without a price',
      existingFile,
    )
    .option('--dry-run', 'change nothing; print what would be written')
    .option('--force', 'replace a file that is there and says something else')
    .option('--json', 'print JSON: counts, findings, and the text of the file')
    .action((path: string, options: Importing) => run(kind, path, options))
}

const addStoreOptions = (command: Command) =>
  command.option('--project <id or name>', 'whose the keys will be (default: the project of the first start)')

async function run(kind: ImportKind, file: string, options: Importing): Promise<void> {
  const { keys, prices, out, project, team, name, dryRun, force, json } = options
  const { readConfig } = await configuration()
  const { importFrom } = await operateImport()
  const flags = { dry_run: dryRun === true, force: force === true }
  const teamed = { keys, project, teams: team }
  const imported = await importFrom(readConfig(), { kind, file, prices, out, name, ...teamed, ...flags })
  print(json ? JSON.stringify(imported) : forPeople(imported))
}

/** Several of them, each given once. */
function teams(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=')
  if (at < 1 || at === text.length - 1) throw new InvalidArgumentError('It must be such as team-7=atlas.')
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
}

function forPeople({ dry_run, file, file_present, text, variables, keys, findings, ...counts }: Imported): string {
  const created = dry_run
    ? `${keys.planned.length} to be created`
    : `${keys.created} created, ${keys.present} there already`
  const summary = card({
    File: dry_run ? `${file} (not written)` : `${file}${file_present ? ' (as it was)' : ''}`,
    Providers: String(counts.providers),
    Models: String(counts.models),
    Aliases: String(counts.aliases),
    Keys: created,
    Variables: variables.join(', ') || '-',
  })
  const told = findings.map(
    (one) => `${one.file}:${one.line}: ${one.field}: ${one.kind.replace('_', ' ')}: ${one.told}`,
  )
  const planned = keys.planned.map((one) => [one.name, one.masked, one.project])
  return [
    ...(dry_run ? [text] : []),
    ...(dry_run && planned.length > 0 ? [table(['KEY', 'SECRET', 'PROJECT'], planned)] : []),
    summary,
    told.length > 0 ? `Differences (${told.length}):\n${told.join('\n')}` : 'Everything has a counterpart.',
  ].join('\n')
}
