// T-101: the cookie of somebody who signed in. Over TLS its name begins `__Host-`, which browsers only take from this
// very host, over TLS, for the whole of it: no neighbour can plant one.
const NAME = 'switchyard'
const SECRET = /^[0-9A-Za-z]{43}$/

/** Of a browser that signed up: it may confirm the address that it signed up with, and is signed in by that (0161). */
export const SIGN_UP_COOKIE = 'switchyard-sign-up'

/** Of a browser that was sent to an identity provider: only it may finish that sign-in (0340). */
export const ISSUER_COOKIE = 'switchyard-issuer'

export const cookieName = (secure: boolean, name = NAME) => (secure ? `__Host-${name}` : name)

/** The secret, where the browser sent it once and in our form. Two of a name mean that somebody else set one. */
export function readCookie(header: string | undefined, secure: boolean, name = NAME): string | undefined {
  if (header === undefined) return undefined
  const start = `${cookieName(secure, name)}=`
  const values = header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(start))
    .map((pair) => pair.slice(start.length))
  const [value] = values
  return values.length === 1 && value !== undefined && SECRET.test(value) ? value : undefined
}

export function setCookie(secret: string, max_age_ms: number, secure: boolean, name = NAME): string {
  const max_age_s = Math.floor(max_age_ms / 1_000)
  const parts = [`${cookieName(secure, name)}=${secret}`, 'Path=/', 'HttpOnly', 'SameSite=Lax', `Max-Age=${max_age_s}`]
  return [...parts, ...(secure ? ['Secure'] : [])].join('; ')
}

export const clearCookie = (secure: boolean, name = NAME) => setCookie('', 0, secure, name)
