// ${NAME} in switchyard.yaml, so that no secret need stand in the file; and what was meant as one and is none.

export interface Variables {
  heldBy(pointer: string, name: string): string
  /** The text would be taken as it stands. It may be a secret, so it is not repeated. */
  onMisspelt(pointer: string, message: string): void
}

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g
const SHELL_VARIABLE = /^\$[A-Za-z_][A-Za-z0-9_]*$/
const SECRETS =
  /\/(api_key|access_key_id|secret_access_key|session_token|client_secret|service_account)$|^\/tracing\/headers\//

// biome-ignore lint/suspicious/noTemplateCurlyInString: it is said as the file has it
const ONLY_NAME = 'a secret that is only $NAME is no variable: write ${NAME}'
const NO_NAME = `'\${' must be followed by the name of a variable, of letters, digits and _, and by '}'`

/** What a variable holds is not looked at again. */
export function substituted(value: unknown, pointer: string, variables: Variables): unknown {
  if (typeof value === 'string') return textOf(value, pointer, variables)
  if (Array.isArray(value)) return value.map((one, index) => substituted(one, `${pointer}/${index}`, variables))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, substituted(one, `${pointer}/${key}`, variables)]),
  )
}

function textOf(text: string, pointer: string, { heldBy, onMisspelt }: Variables): string {
  if (text.replace(VARIABLE, '').includes('${')) onMisspelt(pointer, NO_NAME)
  if (SECRETS.test(pointer) && SHELL_VARIABLE.test(text)) onMisspelt(pointer, ONLY_NAME)
  return text.replace(VARIABLE, (_whole, name) => heldBy(pointer, name))
}
