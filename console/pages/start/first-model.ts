// Whose key it is by how it looks, and what the first request asks for. Pure.
import type { ListedModel } from '../../api/generation-calls.ts'

const LOOKS: readonly [RegExp, string][] = [
  [/^sk-ant-/, 'anthropic'],
  [/^AIza/, 'gemini'],
  [/^gsk_/, 'groq'],
  [/^sk-(proj|svcacct|admin)-/, 'openai'],
  [/^sk-/, 'openai'],
]

/** Undefined where many providers' keys look so. */
export const providerOfKey = (key: string): string | undefined => LOOKS.find(([look]) => look.test(key.trim()))?.[1]

const OTHERWISE = 'gpt-4o-mini'

/** Small and cheap, of the provider that was just connected where it has any; the first one there is otherwise. */
export function firstModel(models: readonly ListedModel[], provider: string | undefined): string {
  const of_it = models.filter(({ owned_by }) => provider === undefined || owned_by === provider)
  const small = of_it.find(({ id }) => /mini|haiku|flash|small|nano|8b/.test(id) && !/embed|audio|image|tts/.test(id))
  const preferred = models.find(({ id }) => id === OTHERWISE && (provider ?? 'openai') === 'openai')
  return (preferred ?? small ?? of_it[0] ?? models[0])?.id ?? OTHERWISE
}

/** An alias may have small letters, digits and a few marks only. */
export const aliasFor = (model: string) =>
  model
    .toLowerCase()
    .replace(/[^a-z0-9._/-]+/g, '-')
    .replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, '')
    .slice(0, 64)
