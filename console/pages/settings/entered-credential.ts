// What was typed into the form of a credential, as the service takes it.
import type { NewCredential } from '../../api/settings-calls.ts'

export interface TypedCredential {
  provider: string
  name: string
  base_url: string
  region: string
  api_version: string
  models: string
}

export function enteredCredential(typed: TypedCredential, secret: string): NewCredential {
  const { provider, name, base_url, region, api_version, models } = typed
  const named = namedModels(models)
  return {
    provider,
    name,
    ...enteredAs(secret),
    ...(base_url.trim() !== '' && { base_url }),
    ...(region.trim() !== '' && { region: region.trim() }),
    ...(api_version.trim() !== '' && { api_version: api_version.trim() }),
    ...(Object.keys(named).length > 0 && { models: named }),
  }
}

/** `a=b, c=d`; a name alone is called the same there. */
function namedModels(text: string): Record<string, string> {
  const pairs = text.split(',').flatMap((one) => {
    const [name = '', ...upstream] = one.split('=')
    return name.trim() === '' ? [] : [[name.trim(), upstream.join('=').trim() || name.trim()]]
  })
  return Object.fromEntries(pairs)
}

/** What is no JSON is the secret itself, and for the service to judge. */
function enteredAs(secret: string): Pick<NewCredential, 'secret' | 'aws' | 'service_account'> {
  const told = secret.trim().startsWith('{') ? jsonOrNone(secret) : undefined
  if (told === undefined) return { secret }
  return 'access_key_id' in told ? { aws: told as never } : { service_account: told as never }
}

function jsonOrNone(text: string): object | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
