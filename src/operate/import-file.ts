// The switchyard.yaml that an import writes, checked as a start would check it before anything is written.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { stringify } from 'yaml'
import { ImportError } from '../imports/foreign-file.ts'
import type { ImportPlan } from '../imports/import-plan.ts'
import { parseConfig } from '../start/config-file.ts'
import { SettingError } from '../start/setting-text.ts'
import { OperationError } from './operate.ts'

const HEAD = `# Written by \`switchyard import\`. The variables must be set where the server runs.
# \`switchyard config check\` says what is wrong with this file.
`

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g
const UNKNOWN_YET = 'https://not-set.invalid' // good as an address and as a key

export function importedText({ providers, aliases }: ImportPlan): string {
  const settings = { providers, ...(aliases.length > 0 && { aliases }) }
  return `${HEAD}\n${stringify(settings, { lineWidth: 0, aliasDuplicateObjects: false })}`
}

/** As a start will read it once all variables are set. */
export function assertAccepted(text: string, file: string): void {
  const env = Object.fromEntries([...text.matchAll(VARIABLE)].map(([, name = '']) => [name, UNKNOWN_YET]))
  try {
    parseConfig(text, file, env)
  } catch (error) {
    if (!(error instanceof SettingError)) throw error
    throw new ImportError(`What is to be imported makes no good switchyard.yaml: ${error.message}`)
  }
}

/** Nobody's own file is lost: another text under this name stays, unless it is to be replaced. */
export function assertFree(file: string, text: string, force: boolean): 'new' | 'same' {
  if (!existsSync(file)) return 'new'
  if (readFileSync(file, 'utf8') === text) return 'same'
  if (force) return 'new'
  throw new OperationError(`${file} is there and says something else. Give another --out, or --force to replace it.`)
}

export const writeImported = (file: string, text: string): void => writeFileSync(file, text, { mode: 0o600 })

/** The variables that the file wants, in order of the alphabet. */
export const variablesIn = (text: string): string[] =>
  [...new Set([...text.matchAll(VARIABLE)].map(([, name = '']) => name))].sort()
