// Text that came from outside and is told on: to people, a log, a store (R80). No control characters, no secrets, and
// never more than so many bytes.

/** The first bytes of it, as UTF-8 and without half a character; whatever cannot be shown or stored is a space. */
export function inBounds(text: string, bytes: number): string {
  const shown = text.slice(0, bytes).replace(UNTELLABLE, ' ').toWellFormed()
  if (Buffer.byteLength(shown) <= bytes) return shown
  // A character that was cut through would be shown as one that nobody wrote.
  return Buffer.from(shown)
    .toString('utf8', 0, bytes)
    .replace(/\uFFFD$/u, '')
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be told on
const UNTELLABLE = /[\u0000-\u001F\u007F-\u009F\u2028\u2029\u202A-\u202E\u2066-\u2069]/g

const REMOVED = '[removed]'

/** Names whose value is a secret, with `:` or `=` between them. */
const NAMES = [
  'api[-_ ]?key',
  '(?:access|auth|refresh|id|session|security)[-_ ]token',
  '(?:client|shared)[-_ ]secret',
  'secret(?:[-_ ]access)?[-_ ]key',
  'secret',
  'password',
  'passwd',
  'signature',
]
const ASSIGNED = `(["']{0,2}[ \\t]{0,4}[:=][ \\t]{0,4}["']{0,2})`
const VALUE = `[^\\s"',;&}]{4,4096}`

/** Every part of them is bounded, so that no text makes them search its rest again and again. */
const SECRETS: readonly [RegExp, string][] = [
  [/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(-----END|$)/g, REMOVED],
  [/\b(bearer|basic|negotiate)[ \t:=]{1,8}[\w.~+/*=-]{4,4096}/gi, `$1 ${REMOVED}`],
  [new RegExp(`(?<![a-z])(authorization)${ASSIGNED}${VALUE}(?: ${VALUE})?`, 'gi'), `$1$2${REMOVED}`],
  [new RegExp(`(?<![a-z])(${NAMES.join('|')})${ASSIGNED}${VALUE}`, 'gi'), `$1$2${REMOVED}`],
  [/\bsvc_live_\w{1,256}/g, REMOVED],
  [/\b(sk|pk|rk|ak|gsk|xai|pplx|fw|nvapi|sess|org)[-_][\w*.-]{6,512}/g, REMOVED],
  [/\b(hf|r8|gh[pousr]|glpat|xox[abprs])[-_][\w*-]{10,512}/g, REMOVED],
  [/\b(AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,32}\b/g, REMOVED],
  [/\bAIza[\w-]{20,64}/g, REMOVED],
  [/\bya29\.[\w.-]{10,2048}/g, REMOVED],
  [/\beyJ[\w-]{8,512}\.[\w-]{8,2048}(\.[\w-]{0,1024})?/g, REMOVED],
  [/(:\/\/)[^\s/@]{1,256}@/g, `$1${REMOVED}@`],
]

const OWN_LEAST = 4 // what is shorter stands in any text

/** `sent` is the credential that went along with what this is the answer to. */
export function withoutSecrets(text: string, sent?: string): string {
  const foreign = sent !== undefined && sent.length >= OWN_LEAST ? text.split(sent).join(REMOVED) : text
  return SECRETS.reduce((told, [secret, instead]) => told.replace(secret, instead), foreign)
}
