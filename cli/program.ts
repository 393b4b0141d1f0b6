// What can be typed after `switchyard`, and the help on it.
import { Command, type OutputConfiguration } from 'commander'
import { version } from '../src/start/version.ts'
import { addAlias } from './commands/aliases.ts'
import { addArtifact } from './commands/artifacts.ts'
import { addBundle } from './commands/bundles.ts'
import { addChannel } from './commands/channels.ts'
import { addCluster } from './commands/clusters.ts'
import { addCredential } from './commands/credentials.ts'
import { addConfig } from './commands/file-check.ts'
import { addOwnerLink } from './commands/first-owner.ts'
import { addImport } from './commands/import.ts'
import { addKey } from './commands/keys.ts'
import { addLimits } from './commands/limits.ts'
import { addOperator } from './commands/operator.ts'
import { addPlan } from './commands/plan.ts'
import { addPrices } from './commands/price-files.ts'
import { addProject } from './commands/projects.ts'
import { addProvider } from './commands/providers.ts'
import { addPurge, addReceipt } from './commands/purge.ts'
import { addRecording } from './commands/recordings.ts'
import { addReplay } from './commands/replay.ts'
import { addSecondFactor } from './commands/second-factors.ts'
import { addServe } from './commands/serve.ts'
import { addTagBudget } from './commands/tag-budgets.ts'
import { addUpkeep } from './commands/upkeep.ts'
import { addUsage } from './commands/usage.ts'
import { addView } from './commands/views.ts'
import { EXIT_CODES } from './failure.ts'

const SETTINGS = `Settings of key, alias, credential, limits, usage, cluster, plan, artifact, bundle, channel,
recording, tag-budget, view, purge, receipt, replay, provider, project cap and project second-factor,
which call a service:
  SWITCHYARD_URL  its address, without /v1 (default: http://127.0.0.1:8080)
  SWITCHYARD_KEY  an API key of the project
serve, owner-link, project create, project list, operator, second-factor, import, backup, restore, secret,
usage quarantine, key create --project and receipt verify --local open the store, with the settings of the
server: SWITCHYARD_DATA_DIR, DATABASE_URL and the others. config and prices only read files.`

const COMMANDS = [
  ...[addServe, addOwnerLink, addProject, addKey, addAlias, addCredential, addLimits, addUsage, addCluster, addPlan],
  ...[
    addArtifact,
    addBundle,
    addChannel,
    addRecording,
    addTagBudget,
    addView,
    addPurge,
    addReceipt,
    addReplay,
    addOperator,
    addSecondFactor,
    addProvider,
    addConfig,
    addImport,
    addPrices,
    addUpkeep,
  ],
]

/** `complain` is told of wrong usage, in one line; parsing then rejects with a CommanderError. */
export function commandLine(complain: (text: string) => void, output: OutputConfiguration = {}): Command {
  const program = new Command('switchyard')
    .description('Inference control plane for persistent AI agents.')
    .version(version(), '--version', 'print the version')
    .addHelpText('after', `\n${SETTINGS}\n\n${EXIT_CODES}`)
    .exitOverride()
    .configureOutput({
      ...output,
      outputError: (text) =>
        complain(
          text
            .replace(/^error: /, '')
            .trim()
            .replace(/\s*\n\s*/g, ' ')
            .replace(/^unknown command '\S*'$/, '$&; --help lists the commands')
            .replace(/^command-argument value ('.*?') is invalid for argument '(\w+)'/, '$1 is invalid for <$2>'),
        ),
    })
  for (const add of COMMANDS) add(program)
  return program
}
