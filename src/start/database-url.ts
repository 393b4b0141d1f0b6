// What DATABASE_URL must be. What the driver would stumble over only later is told at the start, by name alone: a
// password may stand in any part of what is refused.
import { readFileSync } from 'node:fs'
import { mustBe } from './setting-text.ts'

const CERTIFICATES = ['sslrootcert', 'sslcert', 'sslkey']
const PORT_MAX = 65_535

export function databaseUrl(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  if (!/^postgres(ql)?:\/\//.test(text)) throw mustBe('begin with postgres:// or postgresql://')
  const url = parsed(text)
  if (url?.hash !== '' || !isDecodable(text, url))
    throw mustBe(
      `be a URL such as postgres://user:password@host:5432/database, with a port of at most ${PORT_MAX} and with ` +
        '#, /, ?, @ of the password percent-encoded: %23, %2F, %3F, %40',
    )
  const port = url.searchParams.get('port')
  if (port && !(/^\d+$/.test(port) && Number(port) <= PORT_MAX)) throw mustBe(`have a port of at most ${PORT_MAX}`)
  for (const [, seconds = ''] of text.matchAll(/[?&]connect_timeout=([^&#]*)/g))
    if (!/^\d{1,6}$/.test(seconds)) throw mustBe('have whole seconds as connect_timeout')
  for (const name of CERTIFICATES) {
    const file = url.searchParams.get(name)
    if (file && !isReadable(file)) throw mustBe(`name a file that can be read as ${name}`)
  }
  return text
}

/** One without a host is good too, for a socket that `?host=` names: the driver puts one in its place as well. */
function parsed(text: string): URL | undefined {
  const whole = [text, text.replace('@/', '@localhost/')].find((one) => URL.canParse(one))
  return whole === undefined ? undefined : new URL(whole)
}

/** Where a % encodes nothing, or there are blanks, the driver encodes all of it first. */
function isDecodable(text: string, { username, password, pathname }: URL): boolean {
  if (/ |%(?![0-9a-f]{2})/i.test(text)) return true
  try {
    decodeURIComponent(username + password + pathname)
    return true
  } catch {
    return false
  }
}

function isReadable(file: string): boolean {
  try {
    readFileSync(file)
    return true
  } catch {
    return false
  }
}
