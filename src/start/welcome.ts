// What a start prints for people: where the service is, the first key, who may sign in, and a request to paste. It goes
// to standard output by itself and never through the logger.
import { linkTo } from '../accounts/letters.ts'
import type { MintedLink } from '../accounts/owner-link.ts'
import { rfc3339 } from '../core/clock.ts'
import { type Gateway, isConfigured } from '../routing/gateway.ts'
import type { Founded, OwnerAccess } from './bootstrap.ts'
import type { Config } from './config.ts'

/** A start, as far as people are told of it. */
export interface Start {
  /** Where it listens. */
  address: string
  /** Where people reach it. */
  public_url: string
  /** Only at the first start. */
  founded: Founded | undefined
  access: OwnerAccess
  gateway: Gateway
}

export interface Notice {
  /** Whether standard output may show a secret. */
  shows_secrets: boolean
  /** Empty where there is nothing to say. */
  textOf(start: Start): string
}

/** Who chose the key keeps it elsewhere: then neither it nor a link is printed, which logs would keep. */
export function welcome({ bootstrap_key, variables }: Pick<Config, 'bootstrap_key' | 'variables'>): Notice {
  const given = bootstrap_key === undefined ? undefined : placeOf(variables)
  return {
    shows_secrets: given === undefined,
    textOf: (start) => indented(start.founded ? first(start, given) : later(start)),
  }
}

/** Where the operator put the key: the name of it, and what a shell puts in its place. */
interface Given {
  name: string
  shell: string
}

const placeOf = ({ SWITCHYARD_BOOTSTRAP_KEY_FILE: file }: Config['variables']): Given =>
  file
    ? { name: 'SWITCHYARD_BOOTSTRAP_KEY_FILE', shell: '$(cat $SWITCHYARD_BOOTSTRAP_KEY_FILE)' }
    : { name: 'SWITCHYARD_BOOTSTRAP_KEY', shell: '$SWITCHYARD_BOOTSTRAP_KEY' }

function first(start: Start, given: Given | undefined): string[] {
  const { address, public_url, founded, gateway } = start
  return [
    `Switchyard is ready at ${address}`,
    '',
    ...(given
      ? [`The admin key is the one in ${given.name}.`]
      : ['Your admin key. It is shown this once: store it now.', '', `  ${founded?.key.raw}`]),
    '',
    ...accessLines(start),
    `Console:   ${public_url}/console`,
    `Reference: ${public_url}/docs`,
    '',
    ...tryIt(address, given?.shell ?? founded?.key.raw ?? '', gateway),
  ]
}

const later = (start: Start) => (start.access.kind === 'link' ? accessLines(start) : [])

/** How somebody comes to own the project in the console. */
export function accessLines({ access, public_url }: Start): string[] {
  if (access.kind === 'owned') return []
  if (access.kind === 'on_request')
    return ['To own the project in the console, run `switchyard owner-link` and open what it prints.', '']
  return [...ownerLinkLines(access.link, public_url), '']
}

export function ownerLinkLines(link: MintedLink, public_url: string): string[] {
  const until = rfc3339(link.expires_at)
    .replace('T', ' ')
    .replace(/:\d\d\.\d+Z$/, ' UTC')
  return [
    `Open this to own the project in the console. It works once, until ${until}:`,
    '',
    `  ${linkTo(public_url, 'become-owner', link.secret)}`,
  ]
}

/** A first generation, ready to be pasted. */
export function tryIt(address: string, key: string, gateway: Gateway): string[] {
  return [
    `Try it${hintOn(gateway)}:`,
    '',
    `  curl -s ${address}/v1/chat/completions \\`,
    `    -H "Authorization: Bearer ${key}" \\`,
    '    -H "Content-Type: application/json" \\',
    `    -d '{"model": "${modelOf(gateway)}", "messages": [{"role": "user", "content": "Say hello."}]}'`,
  ]
}

function hintOn(gateway: Gateway): string {
  if (!isConfigured(gateway)) return ' (no provider is configured yet: a placeholder answers)'
  const is_known = gateway.providers.some(({ models }) => models.length > 0)
  return is_known ? '' : ` (${USUAL_MODEL} stands for a model that your upstream has: GET /v1/models lists them)`
}

const USUAL_MODEL = 'gpt-4o-mini'
const PASTEABLE = /^[\w.:/@+-]+$/

/** One that generates, and that a provider has: the usual one where possible. */
function modelOf({ providers }: Gateway): string {
  const models = providers.flatMap((provider) => provider.models).filter(({ id }) => PASTEABLE.test(id))
  if (models.length === 0 || models.some(({ id }) => id === USUAL_MODEL)) return USUAL_MODEL
  const generating = models.find(({ price }) => !price || price.output > 0)
  return (generating ?? models[0])?.id ?? USUAL_MODEL
}

export const indented = (lines: readonly string[]) =>
  lines.length === 0 ? '' : `\n${lines.map((line) => (line === '' ? '' : `  ${line}`)).join('\n')}\n\n`
