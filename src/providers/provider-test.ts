// 0343: whether a provider can be reached and takes what it is entered with, told in words. One question, the cheapest
// there is: what it serves. Nothing of what it says is told but its status and the names of its models.
import { type Static, Type } from 'typebox'
import type { Clock } from '../core/clock.ts'
import { isRefusal } from '../credentials/credential.ts'
import type { ModelList } from './model-list.ts'
import type { ProviderSettings } from './provider-config.ts'

const NAMES_MAX = 50

export const ProviderTest = Type.Object(
  {
    object: Type.Literal('provider_test'),
    outcome: Type.Enum(['listed', 'no_list', 'refused', 'failed'], {
      description:
        '`listed`: it told what it serves. `no_list`: it answered, and has no such list; a call has to show the ' +
        'rest. `refused`: it does not take the secret. `failed`: it cannot be used as it is.',
    }),
    message: Type.String({ description: 'The same in words.' }),
    status: Type.Optional(Type.Integer({ description: 'Of its answer, where it is no list.' })),
    models_total: Type.Optional(Type.Integer({ description: 'How many models it lists.' })),
    models: Type.Optional(Type.Array(Type.String(), { description: `The first ${NAMES_MAX} of them.` })),
    missing: Type.Optional(
      Type.Array(Type.String(), { description: 'Models that are entered for it, and that it does not list.' }),
    ),
    duration_ms: Type.Integer(),
  },
  { title: 'OperatorProviderTest' },
)
export type ProviderTest = Static<typeof ProviderTest>

export type TryProvider = (settings: ProviderSettings) => Promise<ModelList>

export async function tested(settings: ProviderSettings, ask: TryProvider, clock: Clock): Promise<ProviderTest> {
  const begun = clock.now()
  const told = await ask(settings).then(
    (list) => (list.kind === 'models' ? ofList(settings, list.ids) : ofStatus(list.status)),
    (error: unknown) => ({ outcome: 'failed' as const, message: `It could not be asked: ${reasonOf(error)}.` }),
  )
  return { object: 'provider_test', ...told, duration_ms: Math.max(0, clock.now() - begun) }
}

function ofList({ models }: ProviderSettings, ids: readonly string[]) {
  const missing = models.map(({ upstream_id }) => upstream_id).filter((id) => !ids.includes(id))
  return {
    outcome: 'listed' as const,
    message: `It lists ${ids.length} model${ids.length === 1 ? '' : 's'}.${lacking(missing, models.length)}`,
    models_total: ids.length,
    models: ids.slice(0, NAMES_MAX),
    ...(missing.length > 0 && { missing: missing.slice(0, NAMES_MAX) }),
  }
}

const SOME = 3

function lacking(missing: readonly string[], of: number): string {
  if (missing.length === 0) return ''
  const names = missing.slice(0, SOME).join(', ') + (missing.length > SOME ? ' and others' : '')
  return ` It does not list ${missing.length} of the ${of} that are entered here: ${names}.`
}

function ofStatus(status: number) {
  if (isRefusal(status))
    return { outcome: 'refused' as const, status, message: `It does not take the secret: it answered ${status}.` }
  if (status === 429 || status >= 500 || (status >= 300 && status < 400))
    return { outcome: 'failed' as const, status, message: `It answered ${status} when asked for its models.` }
  return {
    outcome: 'no_list' as const,
    status,
    message: `It answered ${status} and tells no models. Whether it serves them shows only a call.`,
  }
}

/** The innermost reason says most: that nobody listens there, or that a certificate is not valid. */
function reasonOf(error: unknown): string {
  let reason = error
  while (reason instanceof Error && reason.cause instanceof Error) reason = reason.cause
  if (!(reason instanceof Error)) return 'nobody knows why'
  return reason.name === 'TimeoutError' ? 'it did not answer in time' : reason.message.replace(/\.$/, '')
}
